import math

import numpy as np
import pytest

from unrolled.metrics.paired_rates import paired_rates


def lines(*numbers):
    return np.array(numbers, dtype=np.int64)


def test_the_rate_is_the_mean_over_data_sets_whatever_their_sizes():
    one, other = [lines(1, 0), lines(*[0] * 97, 1, 1, 1)], [lines(0, 0), lines(*[0] * 100)]
    found = paired_rates(one, other, [np.ones_like(each) for each in one], bootstrap=50, randomization=50)
    assert (found.score, found.baseline) == (0, pytest.approx((50 + 3) / 2))


def test_equal_systems_have_p_one_and_unlike_ones_a_small_p():
    base = [lines(*[1] * 40, *[0] * 60)]
    ones = [np.ones_like(base[0])]
    assert paired_rates(base, base, ones, bootstrap=20, randomization=20)[2:] == (1.0, 1.0)
    better = [lines(*[0] * 100)]
    found = paired_rates(base, better, ones, bootstrap=999, randomization=999)
    assert found.bootstrap == found.randomization == pytest.approx(1e-3)
    swapped = paired_rates(better, base, ones, bootstrap=999, randomization=999)
    assert swapped.difference == -found.difference


def test_randomisation_agrees_with_the_exact_test_of_signs():
    base, system = [lines(*[1] * 9, *[0] * 91)], [lines(*[0] * 9, 1, 1, *[0] * 89)]
    found = paired_rates(base, system, [np.ones_like(base[0])], bootstrap=10, randomization=20000)
    signs = 2 * (1 + 11 + 55) / 2**11  # at most 2 of 11 differences have one sign
    assert found.randomization == pytest.approx(signs, abs=0.02)
    assert found == paired_rates(base, system, [np.ones_like(base[0])], bootstrap=10, randomization=20000)


def test_unequal_lines_are_refused():
    for counts in ([], [lines(1)]):
        with pytest.raises(ValueError, match="same lines"):
            paired_rates(counts, [lines(1, 0)], [lines(1, 1)], bootstrap=1, randomization=1)


def test_without_symbols_there_is_no_rate():
    scores = paired_rates([lines(1, 0)], [lines(0, 0)], [lines(0, 0)], bootstrap=5, randomization=5)
    assert math.isnan(scores.score)
    assert math.isnan(scores.baseline)
    assert scores[2:] == (1.0, 1.0)
