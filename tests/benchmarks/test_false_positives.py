"""Simulated comparisons over seeds without any difference: how often one is shown."""

import false_positives
import pytest


def test_a_gain_on_long_lines_is_shown_as_seldom_as_it_should_be():
    assert 3 <= false_positives.shown_gains(3, 0.1, 0.1, comparisons=200) <= 19  # 10 expected; others come once in 200


def test_a_difference_over_seeds_is_shown_as_seldom_as_it_should_be_and_randomisation_shows_too_many():
    assert 3 <= false_positives.shown_differences(3, 0.1, comparisons=200) <= 19  # 10 to 12 expected
    assert false_positives.randomised_differences(3, 0.1, comparisons=20) >= 7  # 13 expected


def test_lines_have_the_share_of_the_variance_that_was_asked_for():
    rng, runs = false_positives.np.random.default_rng(1), 3
    pairs = [false_positives.alike(rng, runs, 0.5) for _ in range(1000)]
    variance = false_positives.np.var([one.mean() - other.mean() for one, other in pairs])
    of_seeds = 2 * false_positives.OF_SEEDS**2 / runs
    assert of_seeds / variance == pytest.approx(0.5, abs=0.06)
