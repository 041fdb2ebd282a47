from math import exp, inf, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.metrics.perplexity import LogLikelihood
from unrolled.metrics.text_likelihood import BIT, TextLikelihood, impossible, per_word, unknown_words

LOG_PROBS = st.floats(-50, 0)
# words of a few pieces, one before the other
WORDS = st.lists(st.lists(LOG_PROBS, min_size=1, max_size=4), max_size=7)

# Cho, "Natural Language Understanding", the table "How likely is this sentence?": -log2 p of 11 words and of the end.
# Its 4-grams' words sum to 0.015 less than 12 times their average.
LECTURE = {
    "unigram": ([6.684, 8.342, 9.129, 5.081, 15.487, 3.885, 10.84, 6.765, 10.678, 9.993, 4.896, 4.828], 8.051, 265.136),
    "bigram": ([3.197, 2.884, 2.026, 0.402, 12.335, 1.402, 7.319, 4.14, 7.316, 4.816, 3.02, 0.005], 4.072, 16.817),
    "trigram": ([3.197, 2.791, 1.031, 0.144, 8.794, 1.084, 2.763, 4.15, 2.367, 3.498, 1.785, 0.0], 2.634, 6.206),
    "4-gram": ([3.197, 2.791, 1.29, 0.113, 8.633, 0.88, 2.35, 1.862, 1.978, 2.394, 1.51, 0.0], 2.251, 4.758),
}


@given(WORDS, LOG_PROBS)
def test_words_have_the_log_probability_of_their_pieces_and_the_line_keeps_its_own(words, end):
    pieces = [log_p for word in words for log_p in word]
    numbers = [number for number, word in enumerate(words) for _ in word]
    found = per_word([*pieces, end], numbers, len(words))
    assert found == pytest.approx([*(sum(word) for word in words), end])
    assert sum(found) == pytest.approx(sum(pieces) + end)


def add(text, line, log_probs, words_of_pieces=None, unknown=(), unknown_to_any=()):
    numbers = [0] * (len(log_probs) - 1) if words_of_pieces is None else words_of_pieces
    text.add(line, log_probs, numbers, unknown=unknown, unknown_to_any=unknown_to_any)


def test_pieces_behind_the_last_word_count_for_the_end():
    assert per_word([-1.0, -2.0, -4.0], [0, 1], 1) == [-1.0, -6.0]
    with pytest.raises(ValueError, match="zip"):
        per_word([-1.0], [0], 1)


@pytest.mark.parametrize("order", LECTURE)
def test_the_lectures_averages_and_perplexities_come_out(order):
    bits, average, perplexity = LECTURE[order]
    line = LogLikelihood(sum(bits) * BIT, len(bits))
    tolerance = 2e-3 if order == "4-gram" else 6e-4
    assert line.loss / BIT == pytest.approx(average, abs=tolerance)
    assert line.perplexity == pytest.approx(perplexity, rel=tolerance)


def test_unknown_words_are_those_with_an_unknown_piece_but_not_those_that_are_written_so():
    pieces, numbers = ["▁", "<unk>", "b", "▁c", "▁", "<unk>", "▁<unk", ">", "</s>"], [0, 0, 0, 1, 2, 2, 3, 3]
    assert unknown_words("öb c <unk> <unk>", pieces, numbers) == [0]
    assert unknown_words("ö ö", ["<unk>", "<unk>", "</s>"], [0, 1]) == [0, 1]
    assert unknown_words("c", ["c", "<unk>", "</s>"], [0, 1]) == []  # of no word


@given(st.lists(st.tuples(st.text("ab <>\u3000\t"), st.lists(LOG_PROBS, min_size=1, max_size=9)), min_size=1))
def test_corpus_figures_are_sums_divided_once(lines):
    text = TextLikelihood()
    for line, log_probs in lines:
        add(text, line, log_probs, unknown=[0, 1])
    everything = "".join(f"{line}\n" for line, _ in lines)
    log_p = np.array([log_p for _, log_probs in lines for log_p in log_probs], dtype=np.float64)
    words = sum(len([word for word in line.replace("\t", " ").split(" ") if word]) for line, _ in lines)
    figures = text.figures()
    assert figures["sentences"] == len(lines)
    assert figures["words"] == words
    assert figures["characters"] == len(everything)
    assert figures["tokens"] == len(log_p)
    assert figures["unknown_words"] == 2 * len(lines)
    assert figures["unknown_share"] == (pytest.approx(2 * len(lines) / words) if words else 0)
    assert figures["log_probability"] == pytest.approx(log_p.sum(), abs=1e-10)
    assert figures["perplexity_per_token"] == pytest.approx(np.exp(-log_p.mean()), rel=1e-10)
    assert log(figures["perplexity_per_word"]) == pytest.approx(-log_p.sum() / (words + len(lines)), rel=1e-10)
    assert figures["bits_per_character"] == pytest.approx(-log_p.sum() / np.log(2) / len(everything), rel=1e-10)


def test_figures_do_not_depend_on_how_words_are_cut_but_the_perplexity_per_token_does():
    whole, cut = TextLikelihood(), TextLikelihood()
    add(whole, "some words", [-3.0, -5.0, -1.0], [0, 1])
    add(cut, "some words", [-1.0, -2.0, -4.0, -1.0, -1.0], [0, 0, 1, 1])
    for name in ("perplexity_per_word", "perplexity_per_known_word", "bits_per_character", "log_probability"):
        assert whole.figures()[name] == cut.figures()[name]
    assert whole.figures()["perplexity_per_token"] == exp(3)
    assert cut.figures()["perplexity_per_token"] == exp(9 / 5)


def test_words_that_any_model_has_not_do_not_count_where_vocabularies_are_compared():
    text = TextLikelihood()
    add(text, "a bc d", [-1.0, -2.0, -4.0, -8.0, -16.0], [0, 1, 1, 2], unknown=[0], unknown_to_any={0, 1})
    add(text, "", [-3.0], [])
    figures = text.figures()
    assert (figures["words"], figures["unknown_words"], figures["known_words"]) == (3, 1, 1)
    assert figures["perplexity_per_known_word"] == pytest.approx(exp((8 + 16 + 3) / 3))
    assert figures["perplexity_per_word"] == pytest.approx(exp(34 / 5))


def test_words_without_a_piece_are_not_known_words_of_probability_1():
    with_it, without = TextLikelihood(), TextLikelihood()
    add(with_it, "a \u200b b", [-3.0, -5.0, -1.0], [0, 2])
    add(without, "a b", [-3.0, -5.0, -1.0], [0, 1])
    assert (with_it.words, with_it.figures()["known_words"]) == (3, 2)
    assert with_it.known == without.known


def test_probability_0_is_an_infinite_perplexity_and_no_text_has_none():
    text = TextLikelihood()
    assert isnan(text.bits_per_character)
    assert isnan(text.perplexity_per_word)
    add(text, "a b", [-1.0, -inf, -1.0])
    assert (text.perplexity_per_word, text.bits_per_character) == (inf, inf)
    assert text.figures()["log_probability"] == -inf
    assert impossible([-1.0, -inf])
    assert not impossible([-1.0, -1e300])
