"""N-best lists are read, judged and chosen from as by hand; tuning finds what a fine grid finds."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.metrics.translation_scores import bleu_of_statistics, bleu_statistics, translation_scores
from unrolled.rescoring.choose import best, rescored, tuned, with_feature, word_count
from unrolled.rescoring.mert import Candidates, chosen, envelope, line_search, quality_of, tune
from unrolled.rescoring.nbest import Entry, format_entry, parse_nbest

# Two sentences; log p of the translator, then of a language model, worked out by hand with weights 1 and 0.5:
# a: -2 + 0.5 x -6 = -5;     b: -3 + 0.5 x -3 = -4.5   -> b
# c: -1 + 0.5 x -2 = -2;     d: -1.5 + 0.5 x -4 = -3.5;    e | f: -4 + 0.5 x -1 = -4.5   -> c
BY_HAND = ["0 ||| a ||| logp=-2.0 ||| -2.0", "0 ||| b ||| logp=-3.0 ||| -3.0"]
BY_HAND += ["1 ||| c ||| logp=-1.0 ||| -1", "1 ||| d ||| logp=-1.5 ||| -1.5", "1 ||| e ||| f ||| logp=-4 ||| -4"]
JUDGED = [-6.0, -3.0, -2.0, -4.0, -1.0]


def test_words_are_what_ascii_white_space_separates():
    assert word_count("a\u3000b  c\u00a0d\n") == 2


def test_a_translation_of_probability_0_can_still_be_weighted():
    ((impossible, possible),) = parse_nbest(["0 ||| a ||| logp=-inf ||| -inf", BY_HAND[1]], "f")
    assert (impossible.features["logp"], impossible.score) == (-10_000, -10_000)
    assert [entry.text for entry in rescored([[impossible, possible]], {"logp": 0.5})[0]] == ["b", "a"]


def test_a_list_worked_out_by_hand():
    lists = with_feature(parse_nbest(BY_HAND, "hand"), "lm", JUDGED)
    assert [len(entries) for entries in lists] == [2, 3]  # no hypothesis dropped, no last sentence forgotten
    ordered = rescored(lists, {"logp": 1, "lm": 0.5})
    assert [[(e.text, e.score) for e in entries] for entries in ordered] == [
        [("b", -4.5), ("a", -5.0)],
        [("c", -2.0), ("d", -3.5), ("e ||| f", -4.5)],
    ]
    assert [best(entries).text for entries in ordered] == ["b", "c"]
    assert format_entry(1, ordered[1][2]) == "1 ||| e ||| f ||| logp=-4.000000 lm=-1.000000 ||| -4.500000"


def test_a_written_list_reads_the_same():
    entries = [Entry("x ||| y", {"logp": -1.25, "lm": 3.0}, -2.5), Entry("", {"logp": 0.0, "lm": 0.0}, 0.0)]
    assert parse_nbest([format_entry(0, entry) for entry in entries], "x") == [entries]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0 ||| a ||| logp=-2"], "f:1: this is not an entry"),
        (["0 ||| a ||| logp=minus ||| 1"], "f:1: this is not an entry"),
        (["0 ||| a ||| logp=nan ||| 1"], "f:1: this is not an entry"),
        (["0 ||| a ||| logp=1 logp=2 ||| 1"], "f:1: this is not an entry"),
        ([BY_HAND[0], "2 ||| a ||| logp=-2 ||| 1"], "f:2: sentence 2 after sentence 0"),
        ([*BY_HAND, BY_HAND[0]], "f:6: sentence 0 after sentence 1"),
        ([BY_HAND[0], "0 ||| a ||| lm=-2 ||| 1"], "f:2: features lm, but above logp"),
    ],
)
def test_a_damaged_list_is_refused_with_its_line(lines, message):
    with pytest.raises(UserError, match=message):
        parse_nbest(lines, "f")


def test_names_of_figures_are_checked():
    lists = parse_nbest(BY_HAND, "f")
    for name, message in (("logp", "already"), ("l m", "letters")):
        with pytest.raises(UserError, match=message):
            with_feature(lists, name, JUDGED)
    with pytest.raises(UserError, match=r"weights\.lgp: there is no such feature; did you mean logp\?"):
        rescored(lists, {"lgp": 1.0})
    with pytest.raises(UserError, match="give a number"):
        rescored(lists, {"logp": "much"})


numbers = st.integers(-4, 4).map(float)


@given(lines=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=7), x=st.floats(-9, 9))
def test_the_envelope_is_the_greatest_line_everywhere(lines, x):
    slopes, heights = np.array(lines).T
    hull = envelope(slopes, heights)
    (_, here) = [part for part in hull if part[0] <= x][-1]
    assert heights[here] + slopes[here] * x == pytest.approx((heights + slopes * x).max())
    borders = [place for place, _ in hull]
    assert borders == sorted(set(borders))


def random_sentences(seed, figures=2):
    random = np.random.default_rng(seed)
    return [
        Candidates(random.integers(-5, 6, (size, figures)).astype(float), random.integers(0, 9, (size, 1)))
        for size in random.integers(1, 6, 5)
    ]


def total(sums):
    return float(sums[0])


@settings(max_examples=60)
@example(seed=16, axis=1, other=0.7)  # three lines cross in one place, but for rounding
@given(seed=st.integers(0, 9999), axis=st.integers(0, 1), other=st.sampled_from([-1.0, 0.0, 0.7, 1.0]))
def test_a_line_search_is_as_good_as_a_fine_grid(seed, axis, other):
    sentences, weights = random_sentences(seed), np.array([other, other])
    value, position = line_search(sentences, weights, axis, total)
    for place, expected in [(position, value), *((place, None) for place in np.linspace(-12.013, 12.017, 1200))]:
        weights[axis] = place
        found = quality_of(sentences, weights, total)
        assert found == expected if expected is not None else found <= value


def test_tuning_gains_and_is_repeatable():
    for seed in range(5):
        sentences, start = random_sentences(seed, figures=3), np.array([1.0, 0.0, 0.0])
        weights = tune(sentences, start, total, restarts=5, seed=1)
        assert np.abs(weights).sum() == pytest.approx(1)
        assert quality_of(sentences, weights, total) > quality_of(sentences, start, total)
        assert np.array_equal(weights, tune(sentences, start, total, restarts=5, seed=1))


def test_of_equal_scores_the_first_is_chosen():
    assert chosen(np.array([[1.0], [2.0], [2.0]]), np.array([1.0])) == 1


def test_bleu_of_summed_statistics_is_the_corpus_score():
    hypotheses = ["the small dog sleeps here", "two men walk", "a"]
    references = ["the small dog is sleeping here now", "two men are walking", "a dog"]
    rows = [bleu_statistics([h], r)[0] for h, r in zip(hypotheses, references, strict=True)]
    assert bleu_of_statistics(np.sum(rows, axis=0)) == pytest.approx(translation_scores(hypotheses, references).bleu)


def test_tuned_weights_choose_the_better_translations():
    """The language model knows better; the length is noise."""
    references = ["the dog sleeps in the garden", "two men walk to the old house", "she reads a very long book"]
    lists = [
        [
            Entry("dog the garden in sleeps" if wrong else reference, {"logp": -2.0 + wrong, "lm": -9.0 * wrong}, 0.0)
            for wrong in (True, False)
        ]
        for reference in references
    ]
    before, after, weights = tuned(lists, references, None, restarts=3, seed=1, tokenize="13a", lowercase=False)
    assert (before < 20, after) == (True, pytest.approx(100))
    assert [best(entries).text for entries in rescored(lists, weights)] == references
    assert sum(map(abs, weights.values())) == pytest.approx(1)
