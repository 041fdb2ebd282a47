import importlib
import logging
import os
import sys
import threading
from pathlib import Path

import lightning
import pytest
import torch

from unrolled.data import corpus, encode
from unrolled.data.corpus import MonolingualText, ParallelText, Reorder
from unrolled.data.module import DataModule
from unrolled.errors import UserError
from unrolled.files import appearing
from unrolled.text import tokenizer
from unrolled.text.lines import sha256
from unrolled.text.sides import load_tokenizers
from unrolled.text.tokenizer import SentencePiece, Words
from unrolled.text.tokens import EOS

SIDES = ("source", "target")
TEXT = {
    "train.source": ["a b c", "", "d e f g h i j k", "b\u2028b a", "c c", "a\u0085 d", "e", "f f f", "g", " ", "h i"],
    "train.target": ["A B C D", "X", "D E", "B B A", "C C C C C C C C C", "A D", "\t", "F F", "G", "", "H\u2028 I"],
    "val.source": ["a b c d e f g h i j k a b c", "", "neu"],
    "val.target": ["A B", "leer", ""],
    "test.source": ["b", "c  d", "a"],
    "test.target": ["\u00a0B", "C\u0085D ", "A"],
}


def write_text(folder, **changes):
    """Six files, ``changes`` as of TEXT with _ for the dot; the three pairs of paths."""
    folder.mkdir(exist_ok=True)
    for name, lines in (TEXT | {name.replace("_", "."): lines for name, lines in changes.items()}).items():
        data = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
        (folder / name).write_bytes(data)
    return {split: [str(folder / f"{split}.{side}") for side in SIDES] for split in ("train", "val", "test")}


SPLITS = ("train", "val", "test")


def module(tmp_path, *, corpus=None, tokenizer=None, prepare=True, **changes):
    options = {"max_tokens": 20, "max_length": 7, "seed": 4, "cache": tmp_path / "cache"} | changes
    data = DataModule(
        corpus=corpus or ParallelText(**write_text(tmp_path / "text")), tokenizer=tokenizer or Words(), **options
    )
    if prepare:
        data.prepare_data()
        data.setup()
    return data


def lines_of(loader):
    return sorted(line for batch in loader for line in batch.index.tolist())


def test_a_training_pair_is_left_out_if_either_side_is_too_long_or_empty(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    data = module(tmp_path)
    assert lines_of(data.train_dataloader()) == [0, 3, 5, 7, 8, 10]
    assert "2 of 11 are longer than max_length=7 tokens on a side, 3 are empty on a side; 6 remain" in caplog.text
    assert [notice in caplog.text for notice in data.notices] == [True, True]
    assert lines_of(module(tmp_path, max_length=8).train_dataloader()) == [0, 2, 3, 5, 7, 8, 10]


def test_validation_and_test_keep_every_line(tmp_path):
    data = module(tmp_path)
    assert lines_of(data.val_dataloader()) == lines_of(data.test_dataloader()) == [0, 1, 2]
    rows = {
        line: row.tolist() for batch in data.val_dataloader() for line, row in zip(batch.index.tolist(), batch.source)
    }
    assert [token for token in rows[1] if token] == [EOS]


def test_pairs_stay_pairs_whatever_stands_in_a_line(tmp_path):
    data = module(tmp_path)
    for batch in data.train_dataloader():
        for row, line in enumerate(batch.index.tolist()):
            source = data.source_tokenizer.decode(batch.source[row].tolist())
            target = data.target_tokenizer.decode(batch.target[row].tolist())
            assert (source, target) == (TEXT["train.source"][line], TEXT["train.target"][line])


@pytest.mark.parametrize(("source", "target"), [("a b c", "A"), ("a", "A B C")])
def test_a_batch_keeps_its_budget_with_the_ends_of_sentences(tmp_path, source, target):
    text = ParallelText(**write_text(tmp_path / "text", train_source=[source] * 41, train_target=[target] * 41))
    batches = list(module(tmp_path, corpus=text, max_tokens=13).train_dataloader())
    for batch in batches:
        assert max(batch.source.numel(), batch.target_out.numel()) <= 13
    assert max(map(len, batches)) == 13 // 4
    assert {len(batch) for batch in module(tmp_path, corpus=text, max_sentences=2).train_dataloader()} == {1, 2}


def test_validation_and_test_batches_are_up_to_five_times_as_large(tmp_path):
    lines = {f"{split}_{side}": ["a b c"] * 1001 for split in ("train", "val", "test") for side in SIDES}
    text = ParallelText(**write_text(tmp_path / "text", **lines))
    for budget, evaluated in ((8, 40), (400, 2000), (1000, 2000), (2000, 2000), (4000, 4000)):
        data = module(tmp_path, corpus=text, max_tokens=budget)
        largest = [max(batch.source.numel() for batch in getattr(data, f"{split}_dataloader")()) for split in SPLITS]
        assert largest == [budget, evaluated, evaluated]


def test_only_training_is_shuffled(tmp_path):
    def order(split, seed):
        return [batch.index.tolist() for batch in getattr(module(tmp_path, seed=seed, max_tokens=8), split)()]

    assert len({str(order("train_dataloader", seed)) for seed in range(4)}) > 1
    for split in ("val_dataloader", "test_dataloader"):
        assert len({str(order(split, seed)) for seed in range(4)}) == 1


def test_lines_are_given_as_they_stand_in_the_file(tmp_path):
    data = module(tmp_path, prepare=False)
    assert data.text.sources("test") == TEXT["test.source"]
    assert data.text.references("test") == TEXT["test.target"]
    assert data.text.gold("test") is None
    with pytest.raises(UserError, match="split=valid is unknown; did you mean val"):
        data.text.references("valid")


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("settings", [Words, lambda joint: SentencePiece(size=30, joint=joint)])
def test_a_joint_tokenizer_is_one_object(tmp_path, joint, settings):
    data = module(tmp_path, tokenizer=settings(joint=joint))
    assert (data.source_tokenizer is data.target_tokenizer) == joint
    data.save_tokenizers(tmp_path / "saved")
    source, target = load_tokenizers(tmp_path / "saved")
    assert (source is target) == joint
    assert (source.sha256, target.sha256) == (data.source_tokenizer.sha256, data.target_tokenizer.sha256)


def test_tokenizers_see_training_text_only(tmp_path):
    data = module(tmp_path)
    assert data.source_tokenizer.pieces(data.source_tokenizer.encode(["neu a"])[0]) == ["<unk>", "a"]


def test_monolingual_text_has_targets_only(tmp_path):
    paths = write_text(tmp_path / "text")
    corpus = MonolingualText(**{split: target for split, (_, target) in paths.items()})
    data = module(tmp_path, corpus=corpus)
    assert data.source_tokenizer is None
    assert lines_of(data.train_dataloader()) == [0, 1, 2, 3, 5, 7, 8, 10]
    assert next(iter(data.train_dataloader())).source is None
    assert data.padding_share()[0] is None
    assert set(data.fingerprint()) == {"train.target", "val.target", "test.target", "tokenizer.target"}
    with pytest.raises(UserError, match="monolingual"):
        data.text.sources("train")


def test_the_embedded_corpus_is_written_once_with_its_alignments(tmp_path, monkeypatch):
    options = {"pairs": 31, "validation_pairs": 7, "test_pairs": 5, "max_length": 9, "vocabulary_size": 60}
    data = module(tmp_path, corpus=Reorder(**options), max_length=99)
    assert len(lines_of(data.train_dataloader())) == 31
    assert len(data.text.sources("val")) == len(data.text.gold("val")) == 7
    other = module(tmp_path, corpus=Reorder(**options | {"reordering": "none"}))
    assert other.text.gold("val") != data.text.gold("val")
    monkeypatch.delattr(corpus, "write_corpus")
    assert module(tmp_path, corpus=Reorder(**options)).text.gold("val") == data.text.gold("val")


# The cache


def count_trainings(monkeypatch):
    trainings = []
    train_words = tokenizer.train_words
    monkeypatch.setattr(tokenizer, "train_words", lambda *a, **k: trainings.append(1) or train_words(*a, **k))
    return trainings


def cached(tmp_path):
    return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*") if path.is_file()}


def test_what_is_cached_is_not_made_again(tmp_path, monkeypatch):
    trainings = count_trainings(monkeypatch)
    module(tmp_path)
    before = cached(tmp_path)
    assert len(trainings) == 2
    data = module(tmp_path)
    data.prepare_data()
    data.setup("test")
    assert len(trainings) == 2
    assert cached(tmp_path) == before


def test_another_text_or_option_makes_another_entry(tmp_path, monkeypatch):
    trainings = count_trainings(monkeypatch)
    first = module(tmp_path)
    more = {"train_target": [*TEXT["train.target"][:-1], "neu"]}
    changed = module(tmp_path, corpus=ParallelText(**write_text(tmp_path / "text", **more)))
    assert len(trainings) == 4
    assert changed.target_tokenizer.encode(["neu"]) != first.target_tokenizer.encode(["neu"])
    assert changed.fingerprint()["train.target"] == sha256(tmp_path / "text" / "train.target")
    differing = {name for name, value in first.fingerprint().items() if changed.fingerprint()[name] != value}
    assert differing == {"train.target", "tokenizer.target"}
    fewer = module(tmp_path, tokenizer=Words(min_count=2))
    assert fewer.target_tokenizer.size < first.target_tokenizer.size
    assert all(batch.target.max() < fewer.target_tokenizer.size for batch in fewer.train_dataloader())


OWN = """
from dataclasses import dataclass

from unrolled.text.tokenizer import Words, train_words
from unrolled.text.lines import read_lines


@dataclass(frozen=True, kw_only=True)
class Own(Words):
    def train(self, paths):
        return train_words((line.{case}() for path in paths for line in read_lines(path)))
"""


def test_a_tokenizer_of_ones_own_is_trained_anew_once_its_program_was_edited(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else an edit of the same second and size goes unnoticed
    words = []
    for case in ("lower", "lower", "upper"):
        (tmp_path / "own_words.py").write_text(OWN.format(case=case))
        importlib.invalidate_caches()
        sys.modules.pop("own_words", None)
        data = module(tmp_path, tokenizer=importlib.import_module("own_words").Own())
        words.append((data.target_tokenizer.pieces(range(4, 6)), len(cached(tmp_path))))
    assert words[0] == words[1] != words[2]
    assert words[2][0] == [word.upper() for word in words[0][0]] == ["C", "A"]


def test_another_test_set_does_not_train_again(tmp_path, monkeypatch):
    trainings = count_trainings(monkeypatch)
    module(tmp_path)
    changed = {"test_source": ["d", "e"], "test_target": ["D", "E"]}
    data = module(tmp_path, corpus=ParallelText(**write_text(tmp_path / "text", **changed)))
    assert len(trainings) == 2
    assert lines_of(data.test_dataloader()) == [0, 1]


def test_two_that_both_find_the_cache_empty_make_one_entry(tmp_path):
    data = [module(tmp_path, prepare=False) for _ in range(2)]
    meet = threading.Barrier(2)
    train = Words.train

    class Slow(Words):
        def train(self, paths):
            meet.wait(10)  # both have found the cache empty
            return train(self, paths)

    for each in data:
        each._tokenizer = Slow()
    threads = [threading.Thread(target=each.prepare_data) for each in data]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in data:
        each.setup()
    assert lines_of(data[0].train_dataloader()) == lines_of(data[1].train_dataloader())
    assert len(list((tmp_path / "cache" / "tokenizers").iterdir())) == 1
    assert not list((tmp_path / "cache").rglob(".*"))


@pytest.mark.parametrize("name", ["train.source", "val.target"])
def test_a_text_that_is_changed_while_it_is_read_is_not_kept(name, tmp_path):
    files = write_text(tmp_path / "text")
    text = tmp_path / "text" / name

    class Late(Words):
        def train(self, paths):
            text.write_bytes(text.read_bytes().replace(b"A", b"Z").replace(b"a", b"z"))
            return super().train(paths)

    before = sha256(text)
    with pytest.raises(UserError, match=f"{name}: this file was changed while it was read"):
        module(tmp_path, corpus=ParallelText(**files), tokenizer=Late())
    module(tmp_path)
    assert sha256(text) == before
    kept, made = module(tmp_path), module(tmp_path, cache=tmp_path / "fresh")
    for side in ("train_dataloader", "val_dataloader"):
        pairs = zip(getattr(kept, side)(), getattr(made, side)(), strict=True)
        assert all(torch.equal(one.target, other.target) for one, other in pairs)


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch])
def test_what_fails_leaves_nothing_in_the_cache(tmp_path, make):
    def fail():
        with appearing(tmp_path / "cache" / "entry") as partial:
            make(partial)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert os.listdir(tmp_path / "cache") == []


def test_what_is_not_made_does_not_appear(tmp_path):
    with pytest.raises(FileNotFoundError), appearing(tmp_path / "entry"):
        pass


def test_a_cache_that_cannot_be_made_is_a_mistake(tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(UserError, match=r"cannot be created.*another folder"):
        module(tmp_path)


def test_a_cache_where_nobody_may_write_is_a_mistake_that_names_the_option(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may
    with pytest.raises(UserError, match=r"cannot be created or written: .* UNROLLED_CACHE=DIR .* cache=DIR"):
        module(tmp_path)


# Mistakes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_source": ["a", "b"]}, r"train.source has 2 lines and .*train.target has 11"),
        ({"val_target": ["A"]}, r"val.source has 3 lines and .*val.target has 1"),
        ({"test_source": b""}, "test.source: the file is empty"),
        ({"test_target": b"A\nB\nC \xff\n"}, r"test.target:3: .*UTF-8"),
        ({"val_source": b"a\n\0\nc\n"}, r"val.source:2: .*NUL"),
        ({"train_source": [""] * 11}, r"no word occurs"),
        ({"train_source": ["a b c d e f g h"] * 11}, r"no training sentences are left: 1. of 11 .*raise max_length"),
    ],
)
def test_bad_text_is_told_before_anything_is_cached(tmp_path, changes, message):
    corpus = ParallelText(**write_text(tmp_path / "text", **changes))
    with pytest.raises(UserError, match=message):
        module(tmp_path, corpus=corpus)
    if "no training sentences" not in message:
        assert cached(tmp_path) == {}


@pytest.mark.parametrize("text", ["val.source", "test.target"])
def test_nothing_is_measured_on_blank_lines_alone(tmp_path, text):
    corpus = ParallelText(**write_text(tmp_path / "text", **{text.replace(".", "_"): ["", " ", "\t"]}))
    with pytest.raises(UserError, match=rf"{text}: every line is blank; give a file with sentences"):
        module(tmp_path, corpus=corpus)


def test_unequal_files_are_found_though_each_is_cached(tmp_path):
    module(tmp_path)
    paths = write_text(tmp_path / "text")
    paths["test"][1] = paths["train"][1]  # its ids are in the cache
    with pytest.raises(UserError, match=r"test.source has 3 lines and .*train.target has 11"):
        module(tmp_path, corpus=ParallelText(**paths))


def test_a_missing_file_is_named(tmp_path):
    paths = write_text(tmp_path / "text")
    paths["val"][0] += ".missing"
    with pytest.raises(UserError, match=r"val.source.missing: there is no such file"):
        module(tmp_path, corpus=ParallelText(**paths))


@pytest.mark.parametrize("wrong", ["a.en", ["a.en"], ["a.en", "a.de", "a.fr"]])
def test_a_split_needs_two_files(wrong):
    with pytest.raises(UserError, match=r"data.val=.*give two files, '\[SOURCE,TARGET\]'"):
        ParallelText(train=["a", "b"], val=wrong, test=["a", "b"])


def test_a_monolingual_split_needs_one_file():
    with pytest.raises(UserError, match=r"data.test=.*give one file"):
        MonolingualText(train="a", val="a", test=["a", "b"])


@pytest.mark.parametrize("option", ["max_tokens", "max_length", "max_sentences"])
def test_a_budget_of_nothing_is_refused(tmp_path, option):
    with pytest.raises(UserError, match=f"{option}=0"):
        module(tmp_path, **{option: 0})


# With a trainer


class Recorder(lightning.LightningModule):
    """Trains nothing, and notes the lines of its batches."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.lines, self.validated, self.stop_after = [], [], stop_after

    def training_step(self, batch, batch_index):
        self.lines.append(batch.index.tolist())
        return self.weight * 1.0

    def on_train_batch_end(self, *arguments):
        if len(self.lines) == self.stop_after:
            self.trainer.save_checkpoint("middle.ckpt")
            self.trainer.should_stop = True

    def validation_step(self, batch, batch_index):
        self.validated += batch.index.tolist()

    def on_validation_epoch_start(self):
        self.validated = []

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer(**options):
    return lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, **options,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.parametrize("stop_after", [2, 5])
def test_training_resumed_in_the_middle_of_an_epoch_sees_the_same_batches(tmp_path, monkeypatch, stop_after):
    monkeypatch.chdir(tmp_path)
    whole, first, rest = Recorder(), Recorder(stop_after), Recorder()
    data = module(tmp_path, max_tokens=8)
    batches = len(data.train_dataloader())
    assert 2 < batches < 5 < 2 * batches
    trainer(max_epochs=3).fit(whole, datamodule=data)
    assert len(whole.lines) == 3 * batches
    trainer(max_epochs=3).fit(first, datamodule=module(tmp_path, max_tokens=8))
    trainer(max_epochs=3).fit(rest, datamodule=module(tmp_path, max_tokens=8), ckpt_path="middle.ckpt")
    assert first.lines == whole.lines[:stop_after]
    assert rest.lines == whole.lines[stop_after:]
    assert sorted(rest.validated) == [0, 1, 2]  # all of it, though the sanity check took some


def test_ranks_share_all_lines_out(tmp_path):
    lines = []
    for rank in range(3):
        data = module(tmp_path)
        data.trainer = type("Trainer", (), {"global_rank": rank, "world_size": 3})()
        lines += [line for batch in data.val_dataloader() for line in batch.index.tolist()]
    assert sorted(lines) == [0, 1, 2]
    data.trainer.world_size = 4
    with pytest.raises(UserError, match=r"3 sentences.* 4 processes"):
        data.val_dataloader()


# Real text

FOLDER = Path(os.environ.get("UNROLLED_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")) / "multi30k-tok"


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{FOLDER} is not there; UNROLLED_DATA names the folder around it")
@pytest.mark.parametrize("max_tokens", [1500, 4000])
def test_padding_is_below_8_percent_of_target_positions_on_multi30k(tmp_path_factory, max_tokens):
    cache = tmp_path_factory.getbasetemp() / "multi30k"
    names = {"train": "train", "val": "val", "test": "test_2016_flickr"}
    corpus = ParallelText(**{s: [str(FOLDER / f"{name}.{side}") for side in ("en", "de")] for s, name in names.items()})
    data = module(cache, corpus=corpus, tokenizer=SentencePiece(size=8000), max_tokens=max_tokens, max_length=100)
    source, target = data.padding_share()
    assert target < 0.08
    assert source < 0.1
    assert data.target_tokenizer.size == 8000
    assert len(lines_of(data.val_dataloader())) == 1014
    assert encode.CHUNK < len(lines_of(data.train_dataloader())) == 29_000


@pytest.mark.parametrize("split", ["val", "test"])
def test_a_line_of_a_hundred_thousand_words_is_refused_by_its_number(tmp_path, split):
    long = ["a b c", " ".join(["a"] * 100_000), "c"]
    corpus = ParallelText(**write_text(tmp_path / "text", **{f"{split}_source": long}))
    with pytest.raises(UserError) as caught:
        module(tmp_path, corpus=corpus)
    assert str(caught.value).startswith(f"{tmp_path}/text/{split}.source:2: 100,000 tokens are more than the 10,000")


def test_a_training_line_of_a_hundred_thousand_words_is_left_out(tmp_path):
    long = [*TEXT["train.source"][:3], " ".join(["a"] * 100_000), *TEXT["train.source"][4:]]
    data = module(tmp_path, corpus=ParallelText(**write_text(tmp_path / "text", train_source=long)))
    assert lines_of(data.train_dataloader()) == [0, 5, 7, 8, 10]
