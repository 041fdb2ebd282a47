"""Data sets of the package ``datasets``, which a stand-in replaces here: the package itself is an extra."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from unrolled.data.corpus import CorpusText
from unrolled.data.hugging_face import HuggingFace
from unrolled.errors import UserError

ROWS = [
    {"word": "née\tx", "phones": ["n", "eː"], "tags": ["V", "PST"], "pair": {"en": "born", "de": "geb.\r\nx"}, "n": 3},
    {"word": "a", "phones": ["a"], "tags": None, "pair": {"en": "a", "de": "b\n"}, "n": 4},
]
ODD = [
    {"word": " 10\u00a0000  y\u3000z\u2028", "phones": ["n", None, "eː"], "tags": [None], "nest": [["a"]], "raw": b"a"},
]


class Rows(list):
    _fingerprint = "f1"

    def with_format(self, kind):
        assert kind is None
        return self


class Formatted(Rows):
    """As after with_format("numpy"), where a list is an array."""

    def __iter__(self):
        return ({name: np.array(cell) for name, cell in row.items()} for row in super().__iter__())

    def with_format(self, kind):
        return Rows(super().__iter__())


@pytest.fixture
def datasets(monkeypatch):
    def load_dataset(name, config, *, revision, split):
        if name == "nowhere":
            raise FileNotFoundError(f"Couldn't find\nany data file at {name}")
        if split not in ("train", "validation", "test"):
            raise ValueError(f"Unknown split {split!r}")
        calls.append((name, config, revision, split))
        return Rows(ROWS)

    calls = []
    stand_in = SimpleNamespace(load_dataset=load_dataset, disable_progress_bars=lambda: None, calls=calls,
                               load_from_disk=lambda path: {"train": Rows(ROWS), "validation": Rows(ROWS)})  # fmt: skip
    monkeypatch.setitem(sys.modules, "datasets", stand_in)
    return stand_in


def text(tmp_path, **changes):
    columns = {"source": "word", "target": "phones", "features": "tags"} | changes.pop("columns", {})
    options = {"name": "some/set", "config": None, "revision": "v1", "train": "train", "val": "validation"}
    return CorpusText(HuggingFace(columns=columns, **(options | {"test": "test"} | changes)), tmp_path / "cache")


def test_text_and_lists_become_lines(datasets, tmp_path):
    found = text(tmp_path)
    assert found.sources("train") == ["née x\tV;PST", "a\t"]
    assert found.references("test") == ["n eː", "a"]
    assert ("some/set", None, "v1", "validation") in datasets.calls


def test_a_part_of_a_column_and_a_number_may_be_chosen(datasets, tmp_path):
    found = text(tmp_path, columns={"source": ["pair.en", "n"], "target": "pair.de", "features": None})
    assert found.sources("val") == ["born 3", "a 4"]
    assert found.references("val") == ["geb. x", "b"]


def test_a_saved_folder_is_read(datasets, tmp_path):
    (tmp_path / "dataset_dict.json").touch()
    found = text(tmp_path, name=str(tmp_path), test="validation")
    assert found.references("test") == ["n eː", "a"]
    assert datasets.calls == []
    with pytest.raises(UserError, match=r"data\.test=dev: .* has no such split"):
        text(tmp_path, name=str(tmp_path), test="dev").sources("test")


def test_a_format_that_was_saved_with_the_data_is_left_out(datasets, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: Formatted(ROWS))
    found = text(tmp_path)
    assert found.sources("train") == ["née x\tV;PST", "a\t"]
    assert found.references("train") == ["n eː", "a"]


def test_spaces_stay_and_an_element_that_is_none_is_left_out(datasets, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: Rows(ODD))
    found = text(tmp_path)
    assert found.sources("train") == [" 10\u00a0000  y\u3000z\u2028\t"]
    assert found.references("train") == ["n eː"]


@pytest.mark.parametrize(("column", "kind"), [("nest", "list"), ("raw", "bytes")])
def test_what_is_neither_text_nor_a_number_is_refused(column, kind, datasets, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: Rows(ODD))
    with pytest.raises(UserError, match=f"data.columns: {column} of some/set holds {kind}: choose a column of text"):
        text(tmp_path, columns={"target": column}).sources("train")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"name": "nowhere"}, "data.name=nowhere, data.train=train: Couldn't find any data file"),
        ({"val": "dev"}, "data.val=dev: Unknown split 'dev'"),
        ({"columns": {"source": "wort"}}, "some/set has no column wort; did you mean word?"),
        ({"columns": {"target": "pair.fr"}}, "has no column pair.fr"),
        ({"columns": {"target": "pair"}}, "pair has parts: give one, such as pair.en"),
        ({"columns": {"source": 1}}, "have names; use those"),
        ({"feature_separator": ""}, "data.feature_separator=: give the characters that separate two features"),
        ({"feature_separator": None}, "data.feature_separator=null: give the characters"),
        ({"feature_separator": "\t"}, "give the characters that separate two features"),
        ({"name": 5}, "data.name=5: give a name"),
        ({"name": ["a"]}, "data.name=['a']: give a name"),
        ({"name": None}, "data.name=null: give a name"),
        ({"train": 5}, "data.train=5: give a name"),
    ],
)
def test_mistakes_are_one_line(datasets, changes, says, tmp_path):
    with pytest.raises(UserError) as problem:
        text(tmp_path, **changes).sources("train")
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_without_the_package_it_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r'pip install "unrolled\[hf\]"'):
        text(tmp_path).sources("train")
