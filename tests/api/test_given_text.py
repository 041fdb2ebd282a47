"""Lists of text as files: split alike each time, nothing of validation or test trained on, and what is refused."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.run_contents import lines

from unrolled.api.given_text import split_off, write_text_of
from unrolled.errors import UserError

PAIRS = [(f"s {number % 50}", f"t {number}") for number in range(120)]


class Table(list):
    """As pandas has it: its items are the names of its columns."""

    columns = ("text",)


def read(options):
    """{"train.source": lines, ...} of the options."""
    choice, *files = options
    found = {}
    for option in files:
        value = option.partition("=")[2]
        for path in value.strip("[]").split(","):
            path = path.strip("'")
            found[path.rpartition("/")[2]] = lines(Path(path))
    return choice, found


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.text("xy", max_size=3)), min_size=20, max_size=70))
def test_no_source_is_in_two_splits_and_nothing_is_lost(pairs):
    if len({source for source, _ in pairs}) < 3:
        return
    splits = split_off({"train": pairs})
    assert sorted(chain(*splits.values())) == sorted(pairs)
    sources = [{source for source, _ in splits[name]} for name in ("train", "val", "test")]
    assert all(sources)
    assert not sources[0] & sources[1] | sources[0] & sources[2] | sources[1] & sources[2]


def test_shares_are_a_twentieth_but_at_most_a_thousand_and_text_keeps_its_order():
    text = [(str(number),) for number in range(100)]
    splits = split_off({"train": text})
    assert [line for name in ("train", "val", "test") for line in splits[name]] == text
    assert [len(splits[name]) for name in ("train", "val", "test")] == [90, 5, 5]
    many = split_off({"train": [(str(number), "") for number in range(50_000)]})
    assert [len(many[name]) for name in ("train", "val", "test")] == [48_000, 1000, 1000]
    assert many["val"] != [(str(number), "") for number in range(48_000, 49_000)]  # not the last ones


def test_pairs_may_be_rows_of_an_array(tmp_path):
    assert write_text_of(np.array(PAIRS), (), tmp_path) == write_text_of(PAIRS, (), tmp_path)


def test_the_cache_may_be_an_option_in_quotes(tmp_path):
    chosen = write_text_of(PAIRS, [f"cache='{tmp_path}/a b'"])
    assert any(f"{tmp_path}/a b/given" in option for option in chosen)


def test_what_is_given_is_not_split_off(tmp_path):
    data = {"train": PAIRS, "test": [("one", "ein")]}
    choice, files = read(write_text_of(data, (), tmp_path))
    assert choice == "data=parallel_text"
    assert (files["test.source"], files["test.target"]) == (["one"], ["ein"])
    assert len(files["train.source"]) + len(files["val.source"]) == len(PAIRS)
    assert len(set(files["val.source"])) == 2


def test_the_same_text_is_in_the_same_files_and_other_text_in_others(tmp_path):
    first, again, other = (write_text_of(data, (), tmp_path) for data in (PAIRS, list(PAIRS), PAIRS[1:]))
    assert first == again != other
    assert write_text_of(iter(PAIRS), (f"cache={tmp_path}",)) == first
    assert write_text_of([list(pair) for pair in PAIRS], (), tmp_path) == first


def test_sentences_are_text_for_a_language_model_and_line_breaks_are_spaces(tmp_path):
    choice, files = read(write_text_of(["a\nb", *"cdefghij"], (), tmp_path))
    assert choice == "data=monolingual_text"
    assert files["train.text"][0] == "a b"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "data is empty"),
        ("a text", "give a list"),
        (["a", 3], r"data\[1\] is 3"),
        ({"a", "b"}, "data is a set, without an order"),
        ({"train": {"a": "b"}}, "data is a dict, without an order"),
        ({"train": Table()}, "data is a table: give one column of it"),
        (["a", "b\0"], r"data\[1\]: there is a NUL byte"),
        ([("a", "b", "c")], r"data\[0\]"),
        ([("a", None)], r"data\[0\]"),
        ([()], r"data\[0\]"),
        ([{"en": "hello", "de": "hallo"}], r"data\[0\]"),
        ([{"hello", "hallo"}], r"data\[0\]"),
        (["a", ("b", "c"), "d"], "some items are pairs"),
        ({"train": PAIRS, "valid": PAIRS}, r"data\['valid'\]"),
        ({"val": PAIRS}, "data\\['train'\\] is missing"),
        ({"train": PAIRS, "val": ["a"]}, "some items are pairs"),
        ([("a", "b")] * 50, "1 different sources are too few"),
        (["a", "b"], "2 sentences are too few"),
        (["a \ud800", *"bcd"], "half a character"),
    ],
)
def test_a_mistake_is_said_with_its_place(data, says, tmp_path):
    with pytest.raises(UserError, match=says):
        write_text_of(data, (), tmp_path)
