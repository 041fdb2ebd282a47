"""Lookup tables: what a sequence means, the links that are right, and who is longer than whom."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scripts import ROOT

from unrolled.data.generated import SPLITS
from unrolled.data.lookup.sequences import FORMS, LookupOptions, invent_tables, pairs_of_splits
from unrolled.errors import UserError

SIZES = {"pairs": 60, "validation_pairs": 10, "test_pairs": 12}


def by_split(options):
    pairs = {split: [] for split in SPLITS}
    for split, pair in pairs_of_splits(options):
        pairs[split].append(pair)
    return pairs


def words_that_count(pair, form):
    """The string and the tables that are applied to it, in this order."""
    words = pair.source[:-1]
    if form == "noisy":
        words = words[words.index("!") + 1 :]
    return words if form == "forward" else words[::-1]


@given(
    form=st.sampled_from(FORMS),
    seed=st.integers(0, 10**6),
    tables=st.integers(2, 9),
    bits=st.integers(2, 4),
    least=st.integers(2, 4),
    more=st.integers(0, 3),
)
@settings(max_examples=30)
def test_each_target_word_is_what_its_source_word_makes_of_the_one_before(form, seed, tables, bits, least, more):
    most = least + more
    options = LookupOptions(
        **SIZES, form=form, seed=seed, tables=tables + 3, bits=bits, min_tables=least, max_tables=most
    )
    maps = invent_tables(options)
    for split, pairs in by_split(options).items():
        assert len(pairs) == {"train": 60, "val": 10, "test": 12}[split]
        for pair in pairs:
            string, *applied = words_that_count(pair, form)
            assert pair.source[-1] == "."
            assert pair.target[0] == string
            assert len(pair.target) == 1 + len(applied)
            for table, (before, after) in zip(applied, pairwise(pair.target), strict=True):
                assert maps[int(table[1:]) - 1][before] == after
            of_target = {j: pair.source[i] for i, j in pair.links}
            assert [of_target[j] for j in range(len(pair.target))] == [string, *applied]
            lowest, highest = (5, 9) if split == "test" else (least, most)
            assert lowest <= len(applied) <= highest
            assert pair.links == sorted(pair.links)


def test_a_table_is_one_to_one_and_they_differ():
    maps = invent_tables(LookupOptions())
    assert all(sorted(table) == sorted(table.values()) and len(table) == 8 for table in maps)
    assert len({tuple(table.values()) for table in maps}) == 8


def test_no_source_is_in_two_splits_and_validation_and_test_do_not_depend_on_the_training_set():
    few, many = by_split(LookupOptions(**SIZES)), by_split(LookupOptions(**SIZES | {"pairs": 200}))
    sources = [" ".join(pair.source) for pairs in many.values() for pair in pairs]
    assert len(set(sources)) == len(sources)
    assert (few["val"], few["test"]) == (many["val"], many["test"])


def test_the_noise_changes_nothing_but_the_source():
    plain, noisy = (by_split(LookupOptions(**SIZES, form=form))["test"] for form in ("reversed", "noisy"))
    assert [pair.target for pair in plain] == [pair.target for pair in noisy]
    assert all(pair.source[-len(other.source) :] == other.source for pair, other in zip(noisy, plain, strict=True))


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("form", "revers", "reversed"),
        ("bits", 0, "data.lookup.bits=0"),
        ("pairs", 1.5, "data.lookup.pairs=1.5"),
        ("max_tables", 0, "data.lookup.max_tables=0"),
        ("min_tables", 7, "data.lookup.max_tables=4 is below data.lookup.min_tables=7"),
        ("test_max_tables", 3, "data.lookup.test_max_tables=3 is below data.lookup.test_min_tables=5"),
    ],
)
def test_a_mistake_is_one_line(option, value, says):
    with pytest.raises(UserError) as refused:
        LookupOptions(**{option: value})
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_too_few_different_sequences_are_said():
    with pytest.raises(UserError, match=r"lookup: found only \d+ different sentences"):
        by_split(LookupOptions(**SIZES | {"pairs": 700}, max_tables=1, bits=2))


def test_few_lines_have_few_tables_as_no_source_occurs_twice():
    """The numbers in docs/lookup.md."""
    lengths = [len(pair.target) - 1 for split, pair in pairs_of_splits(LookupOptions()) if split == "train"]
    counted = [lengths.count(number) for number in (1, 2, 3, 4)]
    page = " ".join((ROOT / "docs" / "lookup.md").read_text(encoding="utf-8").split())
    assert f"{counted[0]}, {counted[1]}, {counted[2]:,} and {counted[3]:,} of the 10,000 training lines" in page
