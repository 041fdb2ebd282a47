import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from unrolled.metrics.bands import FEWEST, TINY, Band, even_edges, merged, score_bands
from unrolled.metrics.line_scores import Bleu, ExactMatch
from unrolled.metrics.translation_scores import bleu_by_length

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h"]
EDGES = [1, 6, 9]


def system(noise, seed, number=60):
    """References, and translations of which a share of the words is another one."""
    texts, errors = random.Random(7), random.Random(seed)
    references = [[texts.choice(WORDS) for _ in range(texts.randint(4, 12))] for _ in range(number)]
    translations = [[errors.choice(WORDS) if errors.random() < noise else word for word in line] for line in references]
    return [" ".join(line) for line in references], [" ".join(line) for line in translations]


def lengths(lines):
    return [len(line.split()) for line in lines]


def bands_of(runs, references, **options):
    return score_bands(
        Bleu(), Bleu().statistics(runs, references), lengths(references), EDGES, **({"samples": 200} | options)
    )


def test_bleu_is_the_mean_over_runs_of_the_corpus_bleu_of_a_group():
    references, first = system(0.2, 1)
    _, second = system(0.5, 2)
    bands = bands_of([first, second], references)
    each = [bleu_by_length(run, references, lengths(references), EDGES) for run in (first, second)]
    assert [band.sentences for band in bands] == [group.sentences for group in each[0]]
    for band, one, other in zip(bands, *each, strict=True):
        assert band.score == pytest.approx((one.bleu + other.bleu) / 2)
        assert band.lower < band.score < band.upper


def test_the_band_of_one_run_is_the_bootstrap_over_sentences():
    """Again with sacreBLEU's own corpus score of drawn lines, and other draws."""
    references, run = system(0.3, 1)
    (band,) = score_bands(Bleu(), Bleu().statistics([run], references), lengths(references), [1], samples=4000)
    rng, metric = random.Random(5), BLEU()
    lines = [metric.corpus_score([line], [[reference]]) for line, reference in zip(run, references, strict=True)]
    counts = np.array([[*line.counts, *line.totals, line.sys_len, line.ref_len] for line in lines])

    def score(rows):
        correct, total, (length, of_reference) = np.split(counts[rows].sum(axis=0).tolist(), [4, 8])
        return BLEU.compute_bleu([*correct], [*total], length, of_reference).score

    draws = [rng.choices(range(len(run)), k=len(run)) for _ in range(1500)]
    for rows in draws[:20]:
        whole = metric.corpus_score([run[row] for row in rows], [[references[row] for row in rows]])
        assert score(rows) == pytest.approx(whole.score, rel=1e-12)
    scores = [score(rows) for rows in draws]
    assert [band.lower, band.upper] == pytest.approx(np.percentile(scores, [2.5, 97.5]).tolist(), abs=0.7)


def test_the_band_of_several_runs_spans_runs_that_differ():
    references, good = system(0.05, 1)
    _, bad = system(0.6, 2)
    alone = [bands_of([run], references)[0] for run in (bad, good)]
    (together, *_) = bands_of([bad, good], references)
    assert together.lower < alone[0].upper
    assert together.upper > alone[1].lower
    (same, *_) = bands_of([good, good], references)
    assert (same.lower, same.upper) == pytest.approx((alone[1].lower, alone[1].upper), rel=0.02)


def test_bands_are_the_same_every_time_and_narrower_for_more_sentences():
    references, run = system(0.3, 1, number=400)
    whole = score_bands(Bleu(), Bleu().statistics([run], references), lengths(references), [1], samples=300)
    assert whole == score_bands(Bleu(), Bleu().statistics([run], references), lengths(references), [1], samples=300)
    part = score_bands(
        Bleu(), Bleu().statistics([run[:25]], references[:25]), lengths(references[:25]), [1], samples=300
    )
    assert whole[0].upper - whole[0].lower < (part[0].upper - part[0].lower) / 2


def test_sentences_without_variation_have_no_band_and_empty_groups_are_left_out():
    statistics = Bleu().statistics([["a b c d e"] * 12], ["a b c d x"] * 12)
    (band,) = score_bands(Bleu(), statistics, [5] * 12, [0, 4, 6, 9], samples=50)
    assert (band.low, band.high, band.center, band.sentences) == (4, 6, 4.5, 12)
    assert (band.lower, band.upper) == pytest.approx((band.score, band.score))


def test_a_group_without_end_stands_at_its_median():
    statistics = Bleu().statistics([["a b c d e"] * 4], ["a b c d x"] * 4)
    (band,) = score_bands(Bleu(), statistics, [10, 11, 14, 200], [0, 9], samples=5)
    assert (band.center, band.high) == (12.5, math.inf)


def test_every_run_must_have_every_line():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        Bleu().statistics([["a"]], ["a", "b"])


@given(st.lists(st.integers(0, 120), min_size=1, max_size=300))
def test_edges_of_lengths_hold_every_sentence_in_groups_that_are_not_too_small(numbers):
    edges = even_edges(numbers, (1, 2, 5, 10, 20, 50))
    assert edges == sorted(set(edges))
    assert edges[0] <= min(numbers)
    counts = np.histogram(numbers, [*edges, np.inf])[0]
    assert counts.sum() == len(numbers)
    assert len(edges) == 1 or counts.min() >= FEWEST
    assert all(isinstance(edge, int) for edge in edges)


@given(st.lists(st.integers(0, 20).map(lambda number: number / 20), min_size=1, max_size=200))
def test_edges_of_shares_keep_sentences_without_reordering_apart(numbers):
    edges = even_edges(numbers, (0.02, 0.05, 0.1, 0.2))
    counts = np.histogram(numbers, [*edges, np.inf])[0]
    assert counts.sum() == len(numbers)
    assert len(edges) == 1 or counts.min() >= FEWEST
    assert all(isinstance(edge, float) for edge in edges)
    zeros = numbers.count(0)
    if zeros >= FEWEST and len(numbers) - zeros >= FEWEST:
        assert counts[0] == zeros


@given(st.lists(st.one_of(st.integers(0, 12), st.integers(0, 400)), min_size=1, max_size=120))
def test_omitting_empty_groups_at_once_changes_no_edges_of_lengths(numbers):
    every = [edge for edge in range(401) if edge >= min(numbers)]
    assert even_edges(numbers, (1,)) == merged(numbers, every)


@given(st.lists(st.one_of(st.just(0.0), st.integers(0, 200).map(lambda number: number / 20)), min_size=1, max_size=120))
def test_omitting_empty_groups_at_once_changes_no_edges_of_shares(numbers):
    every = [0.0, TINY, *(round(0.1 * place, 6) for place in range(1, 101))]
    assert even_edges(numbers, (0.1,)) == merged(numbers, every)


def test_one_long_line_among_short_ones_takes_no_time():
    assert even_edges([*range(1, 31), 300_000] * FEWEST, (1, 2, 5)) == [*range(1, 31, 5), 299_996]


def test_edges_are_round():
    rng = np.random.default_rng(0)
    assert even_edges(rng.integers(5, 31, 2000).tolist(), (1, 2, 5, 10)) == [1, 6, 11, 16, 21, 26]
    assert even_edges(rng.integers(1, 58, 2000).tolist(), (1, 2, 5, 10)) == [1, 11, 21, 31, 41, 51]
    shares = even_edges(rng.integers(0, 50, 2000) / 100, (0.02, 0.05, 0.1))
    assert [round(edge, 3) for edge in shares] == [0, 0, 0.1, 0.2, 0.3, 0.4]


def test_exact_match_is_the_share_of_lines_that_are_right():
    """A line is right in whatever normal form of Unicode, and however words are spaced."""
    references = ["a b", "c\u0327", "d", "e f"]
    right, wrong = ["a  b", "\u00e7", "d", "e f"], ["a b", "c", "x", "f e"]
    score = ExactMatch("word")
    statistics = score.statistics([right, wrong], references)
    bands = score_bands(score, statistics, [1, 1, 2, 2], [1, 2], samples=200)
    assert [band.score for band in bands] == [75.0, 50.0]
    (band,) = score_bands(score, statistics[:1], [1, 1, 2, 2], [1], samples=50)
    assert band[-3:] == (100.0, 100.0, 100.0)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1, 6, "1–5"),
        (1, 2, "1"),
        (26, math.inf, "≥ 26"),
        (0.0, 1e-9, "0"),
        (1e-9, 0.1, "0–0.1"),
        (0.5, math.inf, "≥ 0.5"),
        (1e-9, math.inf, "> 0"),
    ],
)
def test_intervals_read_well(low, high, shown):
    assert Band(low, high, 0, 0, 0, 0, 0).interval == shown
