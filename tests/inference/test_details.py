"""What score.py shows of scored lines, against sums by hand."""

import json
import math

import pytest

from unrolled.inference.columns import Column
from unrolled.inference.details import CorpusFigures, LogProbabilities, Tokens, WordByWord
from unrolled.text.tokenizer import train_sentencepiece, train_words

WORDS = train_words(["the dog sleeps", "the cat"], size=None, min_count=1)
LINES = ["the dog", "cat"]
HALF, QUARTER = math.log(0.5), math.log(0.25)
FIRST = [[("the", HALF), ("dog", QUARTER), ("</s>", HALF)], [("cat", QUARTER), ("</s>", QUARTER)]]
SECOND = [[("the", QUARTER), ("dog", QUARTER), ("</s>", QUARTER)], [("cat", -math.inf), ("</s>", HALF)]]
COLUMNS = [Column("one", WORDS), Column("two", WORDS)]


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_a_line_s_log_probability_is_the_sum_of_its_pieces():
    shown = LogProbabilities(columns=COLUMNS).show(LINES, [FIRST, SECOND])
    assert shown == f"{4 * HALF:.6f}\t{3 * QUARTER:.6f}\n{2 * QUARTER:.6f}\t-inf\n"


def test_every_piece_is_shown_and_log_0_is_null():
    one = Tokens(columns=COLUMNS[:1]).show(LINES, [FIRST])
    assert [list(json.loads(line)) for line in one.splitlines()] == [["log_probability", "tokens"]] * 2
    shown = [json.loads(line) for line in Tokens(columns=COLUMNS).show(LINES, [FIRST, SECOND]).splitlines()]
    assert [entry["run"] for entry in shown] == ["one", "two", "one", "two"]
    assert shown[0]["tokens"] == [["the", HALF], ["dog", QUARTER], ["</s>", HALF]]
    assert (shown[3]["log_probability"], shown[3]["tokens"][0]) == (None, ["cat", None])


def test_words_are_in_bits_and_perplexity_is_2_to_their_average():
    first, second = WordByWord(columns=COLUMNS).show(LINES, [FIRST, SECOND]).split("\n\n")
    assert rows(first) == [
        ["word", "one", "two"],
        ["the", "1.000", "2.000"],
        ["dog", "2.000", "2.000"],
        ["</s>", "1.000", "2.000"],
        ["average", "1.333", "2.000"],
        ["perplexity", f"{2 ** (4 / 3):.3f}", "4.000"],
    ]
    assert rows(second)[-1] == ["perplexity", "4.000", "inf"]


def test_tables_of_later_lines_are_set_apart_too():
    words = WordByWord(columns=COLUMNS[:1])
    together = words.show(LINES[:1], [FIRST[:1]]) + words.show(LINES[1:], [FIRST[1:]])
    assert together == WordByWord(columns=COLUMNS[:1]).show(LINES, [FIRST])


def test_words_of_which_a_tokenizer_keeps_nothing_are_known_words_of_no_run():
    line = "the \u200b dog"
    words = train_words([line])
    pieces = train_sentencepiece(["the dog"] * 9, kind="unigram", size=12)
    columns = [Column("pieces", pieces), Column("words", words)]
    scored = [
        [[(piece, HALF) for piece in [*tokenizer.pieces(tokenizer.encode([line])[0]), "</s>"]]]
        for _, tokenizer in columns
    ]
    corpus = CorpusFigures(columns=columns)
    corpus.show([line], scored)
    figures = {name: values for name, *values in rows(corpus.end())[1:]}
    assert figures["words"] == ["3", "3"]
    assert figures["known_words"] == ["2", "2"]
    assert figures["perplexity_per_known_word"][1] == "2"


def test_a_corpus_has_figures_at_its_end_alone():
    corpus = CorpusFigures(columns=COLUMNS[:1])
    assert corpus.show(LINES[:1], [FIRST[:1]]) + corpus.show(LINES[1:], [FIRST[1:]]) == ""
    perplexities = [float(row[-1]) for row in rows(corpus.end()) if row[0].startswith("perplexity")]
    expected = math.exp(-(4 * HALF + 2 * QUARTER) / 5)  # a word is a token here
    assert perplexities == pytest.approx([expected] * len(perplexities), rel=1e-5)
    assert perplexities
