import random

import numpy as np
import pytest

from unrolled.metrics.interaction import interaction
from unrolled.metrics.line_scores import Bleu, ExactMatch

SCORE = ExactMatch("word")


def statistics(rates, seed, runs=1):
    """Counts of lines each of which is right with its rate."""
    rng = random.Random(seed)
    return np.array([[[int(rng.random() < rate), 1] for rate in rates] for _ in range(runs)])


def test_a_gain_on_long_sentences_alone_is_found():
    long = np.arange(600) >= 300
    baseline = statistics(np.where(long, 0.5, 0.9), 1)
    system = statistics(np.where(long, 0.8, 0.9), 2)
    found = interaction(SCORE, baseline, system, long, samples=400)
    right = [100 * (system[0, rows, 0].mean() - baseline[0, rows, 0].mean()) for rows in (~long, long)]
    assert (found.other, found.chosen) == pytest.approx(right)
    assert found.difference == pytest.approx(right[1] - right[0])
    assert found.lower < found.difference < found.upper
    assert found.lower > 0
    assert found.p == pytest.approx(2 / 401)
    assert interaction(SCORE, system, baseline, long, samples=400).upper < 0


def test_without_an_interaction_p_is_small_as_seldom_as_it_should_be():
    """A gain that is the same on both sides, in 120 simulated comparisons."""
    long = np.arange(200) >= 100
    small = 0
    for seed in range(120):
        baseline, system = statistics(np.full(200, 0.5), f"a{seed}"), statistics(np.full(200, 0.6), f"b{seed}")
        small += interaction(SCORE, baseline, system, long, samples=199).p < 0.05
    assert small <= 13  # 6 expected; more than 13 come in one of 200 experiments


def test_several_runs_are_averaged():
    long = np.arange(80) >= 40
    baseline, system = statistics(np.full(80, 0.5), 3, runs=3), statistics(np.full(80, 0.7), 4, runs=2)
    found = interaction(SCORE, baseline, system, long, samples=50)
    assert found.chosen == pytest.approx(100 * (system[:, long, 0].mean() - baseline[:, long, 0].mean()))


def test_a_run_that_is_poor_on_both_sides_is_no_interaction():
    """Both sides have the same lines, of which one run has half right and the others all: the gain is equal anyhow."""
    rates = [np.tile([1, 0], 1000), np.ones(2000), np.ones(2000)]
    baseline = np.array([[[int(right), 1] for right in run] for run in rates])
    system = np.ones_like(baseline)
    found = interaction(SCORE, baseline, system, np.arange(2000) >= 1000, samples=300)
    assert found.difference == 0
    assert -6 < found.lower <= 0 <= found.upper < 6  # the gain itself is 0 to 50, depending on the run


def test_over_seeds_a_difference_between_runs_is_no_difference_between_systems():
    """One run of the system is far better on long lines, the others are as the baseline: other seeds may not be."""
    long = np.arange(600) >= 300
    level, better = np.full(600, 0.5), np.where(long, 0.8, 0.5)
    baseline = statistics(level, 6, runs=3)
    system = np.concatenate([statistics(better, 7), statistics(level, 8, runs=2)])
    found = interaction(SCORE, baseline, system, long, samples=100)
    assert found.difference > 5
    assert found.p > 0.2
    assert interaction(SCORE, baseline, statistics(better, 9, runs=3), long, samples=100).p < 0.01


def test_there_must_be_sentences_on_both_sides():
    lines = statistics(np.full(9, 0.5), 5)
    assert interaction(SCORE, lines, lines, np.ones(9, dtype=bool), samples=5) is None
    assert interaction(SCORE, lines, lines, np.zeros(9, dtype=bool), samples=5) is None


def test_a_system_against_itself():
    references = ["a b c d e", "a b c d f", "b c d e f", "c d e f g"]
    runs = Bleu().statistics([["a b c d e", "a b c x f", "b c d e f", "x x e f g"]], references)
    found = interaction(Bleu(), runs, runs, np.array([True, False, True, False]), samples=20)
    assert (found.difference, found.lower, found.upper, found.p) == (0, 0, 0, 1)
