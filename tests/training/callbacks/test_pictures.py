"""What is drawn of a translator: its own output at every validation, and the reference with its links at the test."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from unrolled.text.tokenizer import train_words
from unrolled.training.callbacks import pictures as module_of_pictures
from unrolled.training.callbacks.pictures import Pictures
from unrolled.training.translation import Translation

SOURCES, REFERENCES, TRANSLATIONS = ["a b", "c", "b c a"], ["x y", "z", "y z x"], ["z x y", "z", "y"]
GOLD = [(links, links) for links in (frozenset({(0, 1)}), frozenset(), frozenset({(2, 0), (1, 2)}))]
LAST, MIDDLE = 2, 1


@pytest.fixture
def trainer():
    tokenizers = {
        f"{side}_tokenizer": train_words(texts, size=None, min_count=1)
        for side, texts in (("source", SOURCES), ("target", REFERENCES))
    }
    text = SimpleNamespace(sources=lambda split: SOURCES)
    return SimpleNamespace(
        is_global_zero=True, datamodule=SimpleNamespace(text=text, **tokenizers), loggers=["a logger"], global_step=7
    )


@pytest.fixture
def translation():
    """Of lines in the order in which they were translated, not in that of the file."""
    of_both = {
        "lines": [LAST, MIDDLE, 0],
        "hypotheses": [TRANSLATIONS[line] for line in (LAST, MIDDLE, 0)],
        "references": REFERENCES,
        "gold": GOLD,
    }
    values = {name: {"val": value, "test": value} for name, value in of_both.items()}
    return Mock(spec=Translation, model="the model", device="cpu", **values)


@pytest.fixture
def drawn(monkeypatch):
    """What was drawn: (lines, source texts, target ids, links); and what was logged."""
    calls = SimpleNamespace(drawn=[], logged=Mock())

    def attend(model, source_tokenizer, target_tokenizer, sources, targets, **_):
        return [(source, target_tokenizer.decode(ids)) for source, ids in zip(sources, targets, strict=True)]

    def save(folder, split, lines, pairs, links=None, **_):
        calls.drawn.append((split, list(lines), pairs, links))
        return [Path(folder, f"{split}-{line}{'-reference' if links else ''}") for line in lines]

    monkeypatch.setattr(module_of_pictures, "attend", attend)
    monkeypatch.setattr(module_of_pictures, "save_alignments", save)
    monkeypatch.setattr(module_of_pictures, "log_samples", calls.logged)
    return calls


def test_a_validation_shows_each_translation_beside_its_own_source(trainer, translation, drawn, tmp_path):
    Pictures(folder=str(tmp_path), sentences=2).on_validation_end(trainer, translation)
    ((split, lines, pairs, links),) = drawn.drawn
    assert (split, lines, links) == ("val", [LAST, MIDDLE], None)
    assert pairs == [("b c a", "y"), ("c", "z")]
    ((loggers, split, rows, images, step), _) = drawn.logged.call_args
    assert rows == [["b c a", "y", "y z x"], ["c", "z", "z"]]
    assert images == {"val/alignment/3": tmp_path / "val-2", "val/alignment/2": tmp_path / "val-1"}
    assert (loggers, split, step) == (trainer.loggers, "val", trainer.global_step)


def test_the_test_also_shows_references_with_their_known_links(trainer, translation, drawn, tmp_path):
    Pictures(folder=str(tmp_path), sentences=1).on_test_end(trainer, translation)
    (_, _, own, nothing), (_, lines, pairs, links) = drawn.drawn
    assert own == [("b c a", "y")]
    assert nothing is None
    assert pairs == [("b c a", "y z x")]
    assert lines == [LAST]
    assert [sure for sure, _ in links] != [set()]
    assert drawn.logged.call_args[0][3].keys() == {"test/alignment/3", "test/alignment/3-reference"}


def test_without_known_links_there_are_no_references(trainer, translation, drawn, tmp_path):
    translation.gold = {"test": None}
    Pictures(folder=str(tmp_path), sentences=3).on_test_end(trainer, translation)
    assert [links for *_, links in drawn.drawn] == [None]


def test_one_of_several_processes_draws(trainer, translation, drawn, tmp_path):
    trainer.is_global_zero = False
    Pictures(folder=str(tmp_path), sentences=3).on_validation_end(trainer, translation)
    assert not drawn.drawn


def test_a_language_model_has_no_pictures(tmp_path):
    pictures = Pictures(folder=str(tmp_path / "figures"), sentences=3)
    pictures.on_validation_end(SimpleNamespace(is_global_zero=True), SimpleNamespace())
    assert list(tmp_path.iterdir()) == []
