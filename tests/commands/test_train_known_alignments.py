"""Known alignments, as a user gives them to train.py: what they change, and what is refused."""

import csv
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripts import SHORT, TINY, TINY_MODEL, call_script, results, write_pair

from unrolled.data.known_alignments import is_used

STEP = ["trainer.max_steps=2", "logger=csv", "~callbacks.pictures", "trainer.log_every_n_steps=1", "hydra.run.dir=run"]
SENTENCES = ["two men walk", "a dog sleeps here", "the small dog walks", "two dogs and a man sleep"]
SAETZE = ["zwei männer gehen", "hier schläft ein hund", "der kleine hund geht", "zwei hunde und ein mann schlafen"]
LINKS = ["1-1 2-2 3-3", "4-1 3-2 1-3 2-4", "1-1 2-2 3-3 4p4", "1-1 2-2 3-3 4-4 5-5 6-6"]


@pytest.fixture
def text(tmp_path):
    """data=parallel_text with alignment files numbered from 1."""
    given = ["data=parallel_text", "tokenizer=bpe", "tokenizer.size=60", "data.alignment_base=1"]
    given += [f"data.{split}={write_pair(tmp_path, split, SENTENCES, SAETZE)}" for split in ("train", "val", "test")]
    for split in ("train", "val", "test"):
        (tmp_path / f"{split}.talp").write_text("".join(f"{line}\n" for line in LINKS))
        given.append(f"data.{split}_alignment={tmp_path / split}.talp")
    return given


def train(folder, *more, status=0):
    """Whatever was trained there before."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    done = call_script("train.py", *TINY_MODEL, *STEP, *more, cwd=folder)
    assert done.status == status, done.stderr
    return done


def curve(folder, column):
    with (folder / "run" / "metrics.csv").open(encoding="utf-8") as file:
        return [float(row[column]) for row in csv.DictReader(file) if row.get(column)]


@pytest.mark.parametrize(
    "choice",
    [
        ["alignment=guide"],
        ["alignment=guide", "alignment/distance=squared_error", "attention=gru_att_pooled"],
        ["alignment=replace", "model=bahdanau", "attention=coverage"],
        ["alignment=replace", "alignment.weight=0", "model=rnnsearch", "attention=gru_att"],
    ],
    ids=" ".join,
)
def test_known_alignments_train_on_subwords(choice, text, tmp_path):
    train(tmp_path, *text, *choice)
    found = results(tmp_path / "run")
    assert (found["status"], found["alignment"]) == ("completed", choice[0].partition("=")[2])
    assert 0 <= found["test/aer"] <= 1
    assert found["val/attention_entropy"] > 0
    taught = curve(tmp_path, "train/alignment_loss") if "alignment.weight=0" not in choice else []
    assert len(taught) == (0 if "alignment.weight=0" in choice else 2)
    assert all(loss > 0 for loss in taught)


def test_a_share_of_the_links_teaches_less(tmp_path):
    losses = {}
    for choice in ("alignment=none", "alignment.share=0", "alignment.share=0.4", "alignment.share=1"):
        more = [choice] if choice == "alignment=none" else ["alignment=guide", choice]
        train(tmp_path, *TINY, *SHORT, *more)
        losses[choice] = results(tmp_path / "run")["test/loss"]
    assert losses.pop("alignment.share=0") == losses["alignment=none"]
    assert len(set(losses.values())) == 3
    done = train(tmp_path, *TINY, *SHORT, "alignment=guide", "alignment.share=1.5", status=2)
    assert "alignment.share=1.5" in done.stderr


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 3000))
def test_a_share_is_spread_evenly_and_within_any_larger_one(one, other, pairs):
    smaller, larger = ({pair for pair in range(pairs) if is_used(pair, share)} for share in sorted((one, other)))
    assert smaller <= larger
    assert abs(len(smaller) - min(one, other) * pairs) < 5
    assert len({pair for pair in range(pairs) if is_used(pair, 1.0)}) == pairs
    assert not any(is_used(pair, 0.0) for pair in range(pairs))


def test_what_a_run_learns_from_changes_what_it_learns(tmp_path):
    losses = {}
    for choice in ("alignment=none", "alignment=guide", "alignment=replace", "objective.doubly_stochastic=3"):
        train(tmp_path, *TINY, *SHORT, choice)
        losses[choice] = results(tmp_path / "run")["val/loss"]
    assert len(set(losses.values())) == 4


def test_a_guided_run_aligns_better(tmp_path):
    aer = {}
    for choice in ("none", "guide"):
        more = ["data.grammar.pairs=600", "trainer.max_steps=40", "optimizer.lr=2e-2", "attention.size=16"]
        more += ["data.grammar.min_length=4", "data.grammar.max_length=6"]
        sizes = ["model.embedding_size=16", "model.encoder_size=12", "model.decoder_size=16"]
        train(tmp_path, *TINY, *more, *sizes, f"alignment={choice}", "data.grammar.reordering=head_final")
        aer[choice] = results(tmp_path / "run")["test/aer"]
    assert aer["guide"] < 0.3
    assert aer["guide"] < aer["none"] - 0.2


def test_links_found_by_the_aligner_are_cached(text, tmp_path):
    without = [option for option in text if "_alignment" not in option]
    train(tmp_path, *without, "alignment=guide", "alignment.source=auto")
    assert "test/aer" not in results(tmp_path / "run")  # the links of the test text are not known
    assert results(tmp_path / "run")["test/attention_entropy"] > 0
    (links,) = (tmp_path / "cache" / "alignments").glob("*/links.talp")
    assert len(links.read_text().splitlines()) == len(SENTENCES)
    stamp = links.stat().st_mtime_ns
    train(tmp_path, *without, "alignment=replace", "alignment.source=auto")
    assert links.stat().st_mtime_ns == stamp


def test_evaluate_repeats_the_attention_figures_of_training(text, tmp_path):
    train(tmp_path, *text, "alignment=guide")
    done = call_script("evaluate.py", "run=run", cwd=tmp_path)
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if "," not in line)
    for name in ("aer", "alignment_precision", "alignment_recall", "attention_entropy", "unattended"):
        assert float(shown[name]) == pytest.approx(results(tmp_path / "run")[f"test/{name}"], rel=1e-3), name
    pair = ["source=test.source", "target=test.target", "alignments=found.talp"]
    assert call_script("score.py", "run=run", *pair, cwd=tmp_path).status == 0
    files = ["alignments=found.talp", "gold=test.talp", "gold_base=1"]
    assert f"aer        {shown['aer']}" in call_script("evaluate.py", *files, cwd=tmp_path).stdout


def test_the_best_checkpoint_may_be_the_best_aligned(text, tmp_path):
    train(tmp_path, *text, "objective.monitor=val/aer", "objective.mode=min")
    without = [option for option in text if "val_alignment" not in option]
    refused = train(tmp_path, *without, "objective.monitor=val/aer", "objective.mode=min", status=2)
    assert "data.val_alignment=FILE" in refused.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train": ["1-1"] * 3}, ["train.source has 4 lines", "train.talp has 3"]),
        ({"val": [*LINKS[:3], "7-1"]}, ["val.talp:4", "7-1", "6 words"]),
        ({"test": ["1-1", "1;1", "", ""]}, ["test.talp:2", "1;1"]),
        ({"train": ["0-1", "", "", ""]}, ["train.talp:1", "0-1", "below 1-1"]),
    ],
)
def test_a_mistake_in_an_alignment_file_is_one_line(change, words, text, tmp_path):
    for split, lines in change.items():
        (tmp_path / f"{split}.talp").write_text("".join(f"{line}\n" for line in lines))
    refused = train(tmp_path, *text, "alignment=guide", status=2)
    (line,) = refused.stderr.splitlines()
    assert all(word in line for word in words), line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["alignment=guide", "data.train_alignment=null"], ["data.train_alignment=FILE", "alignment.source=auto"]),
        (["alignment=guide", "data.train_alignment=no.talp"], ["no.talp", "no such file"]),
        (["alignment=guide", "data.alignment_base=2"], ["data.alignment_base=2", "from 0 to 1"]),
        (["alignment=guide", "alignment.source=giza"], ["alignment.source=giza", "given, auto"]),
        (["alignment=guided"], ["alignment=guided", "guide"]),
        (["alignment=guide", "alignment/distance=cross"], ["alignment/distance=cross", "cross_entropy"]),
        (["alignment=guide", "alignment.weight=0"], ["alignment.weight=0"]),
        (["alignment=guide", "model=encoder_decoder", "attention=none"], ["no attention", "alignment=none"]),
        (["alignment=guide", "model=rnn_lm"], ["model=rnn_lm", "alignment=..."]),
        (["objective.doubly_stochastic=-1"], ["objective.doubly_stochastic=-1"]),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_in_one_line(options, words, text, tmp_path):
    sizes = ["model.embedding_size=4", "model.hidden_size=4"] if "model=rnn_lm" in options else TINY_MODEL
    done = call_script("train.py", *sizes, *STEP, *text, *options, cwd=tmp_path)
    assert done.status == 2
    (line,) = done.stderr.splitlines()
    assert all(word in line for word in words), line
