"""The sentences that are shown: lines as they were translated last, with what belongs to each line of the files."""

from types import SimpleNamespace

import pytest

from unrolled.alignment.pieces import piece_alignment
from unrolled.text.tokenizer import train_words
from unrolled.training.callbacks.samples import samples

SOURCES, REFERENCES = ["a b", "c", "b c a"], ["x y", "z", "y z x"]

GOLD = [(links, links) for links in (frozenset({(0, 1)}), frozenset(), frozenset({(2, 0), (1, 2)}))]


@pytest.fixture
def data():
    tokenizers = {
        f"{side}_tokenizer": train_words(texts, size=None, min_count=1)
        for side, texts in (("source", SOURCES), ("target", REFERENCES))
    }
    return SimpleNamespace(text=SimpleNamespace(sources=lambda split: {"val": SOURCES}[split]), **tokenizers)


def module(gold):
    translated = {"lines": {"val": [2, 0, 1]}, "hypotheses": {"val": ["third", "first", "second"]}}
    return SimpleNamespace(**translated, references={"val": REFERENCES}, gold={"val": gold})


def test_each_translation_is_shown_with_its_own_line(data):
    shown = samples(module(None), data, "val", 2)
    assert [sample[:4] for sample in shown] == [(2, "b c a", "y z x", "third"), (0, "a b", "x y", "first")]
    assert [sample.alignment for sample in shown] == [None, None]
    assert len(samples(module(None), data, "val", 9)) == 3


def test_known_links_are_those_of_the_line(data):
    (shown,) = samples(module(GOLD), data, "val", 1)
    tokenizers = data.source_tokenizer, data.target_tokenizer
    assert shown.alignment == piece_alignment(GOLD[2], "b c a", "y z x", *tokenizers)
    assert shown.alignment != piece_alignment(GOLD[0], "b c a", "y z x", *tokenizers)
