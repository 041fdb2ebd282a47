"""Error rates: by hand, by what a distance is, and as the search of a minimum over all ways."""

import math
import unicodedata
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.metrics.error_figures import error_figures
from unrolled.metrics.error_rates import Errors, edit_distance, errors_of_lines, symbols_of, total
from unrolled.metrics.source_lengths import source_lengths

WORDS = st.lists(st.sampled_from("abc"), max_size=6)


def slowly(one, other):
    """The definition, over all first steps."""

    @cache
    def distance(i, j):
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        return min(distance(i + 1, j) + 1, distance(i, j + 1) + 1, distance(i + 1, j + 1) + (one[i] != other[j]))

    return distance(0, 0)


@given(one=WORDS, other=WORDS, third=WORDS)
def test_the_edit_distance_is_the_least_number_of_edits_and_a_distance(one, other, third):
    assert edit_distance(one, other) == slowly(tuple(one), tuple(other)) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) == (one == other)
    assert edit_distance(one, third) <= edit_distance(one, other) + edit_distance(other, third)
    assert abs(len(one) - len(other)) <= edit_distance(one, other) <= max(len(one), len(other))


def test_rates_are_sums_divided_once():
    errors = errors_of_lines(["a b", "a x c d", ""], ["a b", "a b c", "c d"], "word")
    assert errors == [Errors(1, 0, 2, 0), Errors(1, 1, 3, 2), Errors(1, 1, 2, 2)]
    whole = total(errors)
    assert whole.word_error_rate == pytest.approx(200 / 3)
    assert whole.symbol_error_rate == pytest.approx(400 / 7)
    assert math.isnan(total([]).word_error_rate)
    assert math.isnan(total([]).symbol_error_rate)


def test_symbols_are_phones_or_letters_with_their_marks():
    assert symbols_of("t͡ʃ  aː\tb", "word") == ["t͡ʃ", "aː", "b"]
    assert symbols_of(" né e ", "grapheme") == ["n", "é", " ", "e"]
    assert symbols_of(" \u00a0a\u2003", "grapheme") == ["\u00a0", "a", "\u2003"]
    with pytest.raises(UserError, match=r"data\.symbols=phone"):
        symbols_of("a", "phone")


@given(text=st.text("eé\u0301a ", max_size=8))
def test_the_same_text_in_another_normal_form_is_right(text):
    for kind in ("word", "grapheme"):
        (errors,) = errors_of_lines([unicodedata.normalize("NFD", text)], [unicodedata.normalize("NFC", text)], kind)
        assert (errors.wrong, errors.edits) == (0, 0)


def test_unequal_numbers_of_lines_are_refused():
    with pytest.raises(ValueError, match="zip"):
        errors_of_lines(["a"], ["a", "b"], "word")


def test_figures_by_length_and_by_feature():
    sources = ["ab\tV;PST", "abcde\tV;SG", "abcdef\tN;SG"]
    figures = error_figures(sources, ["x", "y", "z"], ["x", "y", "w"], "grapheme", ";")
    assert figures["word_error_rate"] == pytest.approx(100 / 3)
    assert figures["word_error_rate, source of 1 to 3 letters (1 lines)"] == 0
    assert figures["word_error_rate, source of 4 to 6 letters (2 lines)"] == 50
    assert figures["word_error_rate, source of the feature SG (2 lines)"] == 50
    assert figures["word_error_rate, source of the feature V (2 lines)"] == 0
    assert not any("target" in name for name in figures)
    assert not any("feature" in name for name in error_figures(sources, ["x"] * 3, ["x"] * 3, "word", None))


def test_every_source_is_in_a_group_even_an_empty_one():
    figures = error_figures(["ab", "", "\tV;PST", "abcd"], ["x", "y", "y", "w"], ["x", "x", "x", "w"], "grapheme", ";")
    by_length = {name: rate for name, rate in figures.items() if "letters" in name}
    assert by_length == {
        "word_error_rate, source of 0 to 3 letters (3 lines)": pytest.approx(200 / 3),
        "word_error_rate, source of 4 to 6 letters (1 lines)": 0,
    }


def test_sources_of_several_words_are_grouped_by_words():
    sources = ["jump"] * 10 + ["jump twice"] * 10 + ["walk and run"] * 10
    hypotheses = ["J"] * 10 + ["J J"] * 9 + ["J"] + ["W"] * 10
    references = ["J"] * 10 + ["J J"] * 10 + ["W R"] * 10
    figures = error_figures(sources, hypotheses, references, "word", None)
    assert {name: figure for name, figure in figures.items() if "word_error_rate, source" in name} == {
        "word_error_rate, source of 1 word (10 lines)": 0,
        "word_error_rate, source of 2 words (10 lines)": 10,
        "word_error_rate, source of 3 words or more (10 lines)": 100,
    }


def test_a_few_sources_of_several_words_leave_the_others_to_be_measured_in_letters():
    assert source_lengths(["ab\tV;PST SG", "c d", "abc"]) == ("letters", [2, 3, 3])
    assert source_lengths(["a b\tV;PST SG", "c d", "abc"]) == ("words", [2, 2, 1])


def test_only_ascii_white_space_separates_words():
    assert source_lengths(["a\u00a0b c", "d\u3000e f g"]) == ("words", [2, 3])
    assert source_lengths(["a\u00a0b", "c d"]) == ("words", [1, 2])
    assert source_lengths(["a\u00a0b", "\u3000cd", "c d"]) == ("letters", [3, 3, 3])


def test_figures_by_the_length_of_references_in_words():
    references = [" ".join("a" * words) for words in (6, 7, 8) for _ in range(10)]
    hypotheses = [*references[:19], "a", *(["b"] * 10)]
    figures = error_figures(references, hypotheses, references, "word", None)
    found = {name: figure for name, figure in figures.items() if "target" in name}
    assert found == {
        "word_error_rate, target of 6 words (10 lines)": 0,
        "word_error_rate, target of 7 words (10 lines)": 10,
        "word_error_rate, target of 8 words or more (10 lines)": 100,
    }
