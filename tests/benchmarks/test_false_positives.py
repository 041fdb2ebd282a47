"""Simulated comparisons over seeds without any difference: how often one is shown."""

import false_positives


def test_a_gain_on_long_lines_is_shown_as_seldom_as_it_should_be():
    assert 3 <= false_positives.shown_gains(3, 0.1, 0.1, comparisons=200) <= 19  # 10 expected; others come once in 200
