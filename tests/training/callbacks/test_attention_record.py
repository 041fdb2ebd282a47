"""What a training leaves in attention.jsonl is what its model does, under the text and the links of its data."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from omegaconf import OmegaConf
from support.scripts import TINY, TINY_MODEL, call_script, results

from unrolled.alignment.pieces import piece_alignment
from unrolled.configuration.build import build_data
from unrolled.configuration.load import load_translator
from unrolled.configuration.values import read_config
from unrolled.errors import UserError
from unrolled.inspection import record
from unrolled.text.tokenizer import train_sentencepiece
from unrolled.training.callbacks.attention_record import AttentionRecord


@pytest.fixture(scope="module")
def snapshots(trained):
    return record.read(trained)


@pytest.fixture(scope="module")
def data(trained):
    config = read_config(str(trained))
    made = build_data(config)
    made.prepare_data()
    made.setup()
    return made


def test_there_is_a_snapshot_of_every_validation_and_one_of_the_test(snapshots, trained):
    assert [each["split"] for each in snapshots] == ["val", "val", "val", "test"]
    assert [each["epoch"] for each in snapshots] == [1, 2, 3, None]
    steps = [each["step"] for each in snapshots]
    assert steps[0] * 3 == steps[1] * 1.5 == steps[2] == steps[3] == results(trained)["steps"]
    assert {each["run"] for each in snapshots} == {"cgru-gru_att-reorder-seed0"}
    bleu = [each["metrics"]["bleu"] for each in snapshots]
    assert max(bleu[:3]) == pytest.approx(results(trained)["val/bleu"], abs=1e-5)
    assert bleu[3] == pytest.approx(results(trained)["test/bleu"], abs=1e-5)


def test_sentences_are_the_first_lines_of_the_files(snapshots, data, trained):
    for each in snapshots:
        split, sentences = each["split"], each["sentences"]
        assert [sentence["line"] for sentence in sentences] == list(range(1, 9))
        assert [sentence["text"] for sentence in sentences] == data.text.sources(split)[:8]
        texts = [sentence["targets"]["reference"]["text"] for sentence in sentences]
        assert texts == data.text.references(split)[:8]
    written = (trained / "translations" / "test.txt").read_text(encoding="utf-8").splitlines()[:8]
    assert [sentence["targets"]["translation"]["text"] for sentence in snapshots[-1]["sentences"]] == written


def test_known_links_are_those_of_the_data(snapshots, data):
    """The pieces of this corpus are words."""
    for each in snapshots:
        gold = data.text.gold(each["split"])
        for sentence, (sure, _) in zip(each["sentences"], gold):
            links = sentence["targets"]["reference"]["links"]
            assert links
            assert {(i, j) for i, j, _ in links} == sure
            assert all(certain == 1 for _, _, certain in links)
            assert sentence["targets"]["translation"]["links"] is None


def test_pieces_have_the_links_of_their_words():
    text = ["der große hund schläft", "ein hund geht", "die große katze geht"]
    tokenizer = train_sentencepiece(text, kind="bpe", size=30)
    sides = text[0], text[2]
    alignment = {(0, 0), (1, 1), (3, 3)}, {(0, 0), (1, 1), (3, 3), (2, 3)}
    pieces = [tokenizer.pieces(ids) for ids in tokenizer.encode(sides)]
    words = [np.cumsum([piece.startswith("\u2581") for piece in side]) - 1 for side in pieces]
    assert max(len(side) for side in pieces) > 4
    for found, links in zip(piece_alignment(alignment, *sides, tokenizer, tokenizer), alignment):
        assert {(words[0][i], words[1][j]) for i, j in found} == links
        assert len(found) == sum((words[0] == i).sum() * (words[1] == j).sum() for i, j in links)


def test_weights_are_shares_and_norms_are_positive(snapshots):
    for each in snapshots:
        for sentence in each["sentences"]:
            for target in sentence["targets"].values():
                shape = len(target["pieces"]), len(sentence["source"])
                assert target["pieces"][-1] == sentence["source"][-1] == "</s>"
                weights = record.values(target["weights"], shape)
                np.testing.assert_allclose(weights.sum(axis=1), 1, atol=shape[1] / 510)
                norms = record.values(target["memory"], shape)
                assert norms.max() == pytest.approx(target["memory"]["largest"])
                assert norms.min() > 0
                for gate in ("reset", "update"):
                    assert 0 < record.values(target["gates"][gate], shape).mean() < 1


def test_the_test_s_snapshot_is_what_the_written_weights_do(snapshots, data, trained):
    options = {"run": str(trained), "device": "cpu", "precision": "32-true", "max_tokens": 100, "ensemble": {}}
    translator = load_translator(OmegaConf.create(options))
    sentences = snapshots[-1]["sentences"]
    pairs = translator.attend(data.text.sources("test")[:8], data.text.references("test")[:8])
    for sentence, pair in zip(sentences, pairs):
        found = sentence["targets"]["reference"]
        assert (sentence["source"], found["pieces"]) == (pair.source, pair.target)
        weights = record.values(found["weights"], tuple(pair.weights.shape))
        np.testing.assert_allclose(weights, pair.weights.numpy(), atol=1 / 509)
        norms = record.values(found["memory"], tuple(pair.weights.shape))
        np.testing.assert_allclose(norms, pair.memory_norms.numpy(), atol=found["memory"]["largest"] / 509)


def test_sentences_are_those_that_were_translated(tmp_path):
    """With trainer.limit_val_batches these are not the first of the file, but those of the first batch."""
    few = [
        "trainer.max_steps=1",
        "trainer.limit_val_batches=1",
        "trainer.limit_test_batches=1",
        "data.max_tokens=10",
    ]  # five times as many in those
    run = ["logger=csv", "~callbacks.pictures", "callbacks.attention_record.sentences=2", "hydra.run.dir=run"]
    assert call_script("train.py", *TINY, *TINY_MODEL, *few, *run, cwd=tmp_path, looking=True).status == 0
    made = build_data(read_config(str(tmp_path / "run")))
    snapshots = record.read(tmp_path / "run")
    assert [each["split"] for each in snapshots] == ["val", "test"]
    for each in snapshots:
        sources, references = made.text.sources(each["split"]), made.text.references(each["split"])
        lines = [sentence["line"] for sentence in each["sentences"]]
        assert len(lines) == 2
        assert lines != [1, 2]
        for sentence in each["sentences"]:
            assert sentence["text"] == sources[sentence["line"] - 1]
            assert sentence["targets"]["reference"]["text"] == references[sentence["line"] - 1]
            assert sentence["source"][:-1] == sentence["text"].split()


@pytest.mark.parametrize(("step", "kept"), [(0, False), (7, True)])
def test_training_that_begins_begins_a_record_and_one_that_goes_on_keeps_it(tmp_path, step, kept):
    path: Path = tmp_path / record.FILE
    path.write_text("")
    callback = AttentionRecord(folder=str(tmp_path), name="x", sentences=2)
    callback.on_train_batch_start(SimpleNamespace(is_global_zero=False, global_step=0), None, None, 0)
    assert path.exists()
    callback.on_train_batch_start(SimpleNamespace(is_global_zero=True, global_step=step), None, None, 0)
    assert path.exists() == kept


def test_a_number_of_sentences_is_one(tmp_path):
    with pytest.raises(UserError, match=r"attention_record.sentences=0: give a whole number"):
        AttentionRecord(folder=str(tmp_path), name="x", sentences=0)
