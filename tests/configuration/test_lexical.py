"""The lexicon of a run: learnt once, kept in its folder, checked when it is read."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from unrolled.configuration import lexical
from unrolled.configuration.lexical import FILE, lexical_shortlist
from unrolled.data.corpus import CorpusText, Files
from unrolled.errors import UserError


class Letters:
    """Letters are pieces: a is 4."""

    size = 12

    def encode(self, lines):
        return [[ord(letter) - ord("a") + 4 for letter in line if letter != " "] for line in lines]


@pytest.fixture
def shortlist(tmp_path, monkeypatch):
    (tmp_path / "source").write_text("a\nb\na b\na\n")
    (tmp_path / "target").write_text("c\nd\nc d\nc c\n")
    files = Files(tmp_path / "source", tmp_path / "target")
    monkeypatch.setattr(
        lexical, "text_of", lambda run: CorpusText(SimpleNamespace(files=lambda cache: {"train": files}), tmp_path)
    )

    def read(likely=1, frequent=2):
        node = OmegaConf.create({"likely": likely, "frequent": frequent})
        return lexical_shortlist(str(tmp_path), node, Letters(), Letters())

    return read


def test_it_has_likely_and_frequent_words_and_is_learnt_once(shortlist, monkeypatch):
    found = shortlist()
    assert found.likely[4:7].tolist() == [[6], [7], [-1]]
    assert found.frequent.tolist() == [6, 7]
    monkeypatch.setattr(lexical, "text_of", None)
    again = shortlist(likely=2, frequent=1)
    assert torch.equal(again.likely[:, :1], found.likely)
    assert again.likely.shape == (12, 2)
    assert again.frequent.tolist() == [6]


def test_a_text_that_has_changed_is_named_and_one_with_a_line_too_few_is_refused(shortlist, tmp_path, caplog):
    (tmp_path / "provenance.json").write_text(json.dumps({"sha256": {"train.source": "0" * 64}}))
    (tmp_path / "source").write_text("a\nb\n")
    with pytest.raises(UserError, match=r"source has 2 lines and .*target has 4"):
        shortlist()
    (tmp_path / "source").write_text("b\nb\na b\na\n")
    shortlist()
    assert "source has changed since" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"likely": np.zeros((12, 3))},
        {"likely": np.full((12, lexical.MOST), 12)},
        {"frequent": np.arange(11)},
        {"frequent": np.array(["x"] * 12, dtype=object)},
    ],
)
def test_a_damaged_lexicon_is_refused(shortlist, tmp_path, wrong):
    shortlist()
    with np.load(tmp_path / FILE) as whole:
        arrays = dict(whole)
    np.savez(tmp_path / FILE, **(arrays | wrong))
    with pytest.raises(UserError, match=rf"{FILE}.*delete it"):
        shortlist()
    (tmp_path / FILE).write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(UserError, match=rf"{FILE}.*delete it"):
        shortlist()


@pytest.mark.parametrize(
    ("options", "named"),
    [({"likely": 0}, "likely=0"), ({"likely": 51}, "at most 50"), ({"frequent": -1}, "frequent=-1")],
)
def test_impossible_numbers_are_refused(shortlist, options, named):
    with pytest.raises(UserError, match=named):
        shortlist(**options)
