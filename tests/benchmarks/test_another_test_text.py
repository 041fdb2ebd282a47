"""Runs on another test text: on their own they keep their figures, and compare.py takes them on the new one."""

import json
import sys

import another_test_text
import pytest
from support.forked import run_forked
from support.run_contents import NO_PAGES
from support.scripts import TINY_MODEL

ENGLISH = ["two men walk", "a dog sleeps here", "the small dog walks", "two dogs and a man sleep"] * 4
GERMAN = ["zwei männer gehen", "ein hund schläft hier", "der kleine hund geht", "zwei hunde und ein mann schlafen"] * 4


@pytest.fixture
def run(tmp_path):
    """A run whose test text is all of ENGLISH and GERMAN."""
    for side, lines in (("en", ENGLISH), ("de", GERMAN)):
        (tmp_path / f"text.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        (tmp_path / f"new.{side}").write_text("".join(f"{line}\n" for line in lines[1:3]), "utf-8")
    options = [*(f"data.{split}=[text.en,text.de]" for split in ("train", "val", "test")), *TINY_MODEL, *NO_PAGES]
    options += ["data=parallel_text", "tokenizer=word", "logger=csv", "optimizer.lr=0.02", "trainer.max_epochs=20"]
    run_forked("train.py", *options, "trainer.check_val_every_n_epoch=10", "hydra.run.dir=run", cwd=tmp_path)
    return tmp_path / "run"


def copied(monkeypatch, run, name, output, *search):
    """The results of the copy whose test text is name.en and name.de."""
    files = [str(run.parent / f"{name}.{side}") for side in ("en", "de")]
    given = ["--test", *files, "--output", str(output), *search, "--", str(run)]
    monkeypatch.setattr(sys, "argv", ["another_test_text.py", *given])
    another_test_text.main()
    return json.loads((output / "run" / "results.json").read_text("utf-8"))


def test_another_test_text(run, tmp_path, monkeypatch):
    before = json.loads((run / "results.json").read_text("utf-8"))
    same = copied(monkeypatch, run, "text", tmp_path / "same")
    assert same["test/bleu"] == pytest.approx(before["test/bleu"]) != 0
    assert same["val/bleu"] == before["val/bleu"]
    written = (run / "translations" / "test.txt").read_text("utf-8")
    assert (tmp_path / "same" / "run" / "translations" / "test.txt").read_text("utf-8") == written

    copied(monkeypatch, run, "new", tmp_path / "new")
    lines = (tmp_path / "new" / "run" / "translations" / "test.txt").read_text("utf-8").splitlines()
    assert lines == written.splitlines()[1:3]
    run_forked("compare.py", "runs=new", "align=1", cwd=tmp_path)
    assert (tmp_path / "new" / "comparison" / "bleu-by-length.png").is_file()

    copied(monkeypatch, run, "new", tmp_path / "long", "--search", "search.min_length_ratio=2")
    longer = (tmp_path / "long" / "run" / "translations" / "test.txt").read_text("utf-8").splitlines()
    assert all(len(one.split()) >= 8 > len(other.split()) for one, other in zip(longer, lines, strict=True))
