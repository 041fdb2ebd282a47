import math

import numpy as np
import pytest

from unrolled.metrics.unigram_loss import leaves_unigram_level, unigram_loss


def test_it_is_the_mean_of_minus_log_frequency():
    train, text = np.array([0, 5, 2]), np.array([1, 0, 3])
    # (n + 1) / (N + V): 1/10, 6/10, 3/10
    assert unigram_loss(train, text) == pytest.approx(-(math.log(0.1) + 3 * math.log(0.3)) / 4)


def test_of_the_training_text_itself_it_is_nearly_the_entropy():
    counts = np.array([4, 2, 1, 1]) * 10**6
    assert unigram_loss(counts, counts) == pytest.approx(1.75 * math.log(2), rel=1e-5)


def test_it_is_left_by_a_tenth_of_a_nat():
    assert leaves_unigram_level(4.89, 5.0)
    assert not leaves_unigram_level(4.91, 5.0)
    assert not leaves_unigram_level(math.nan, 5.0)
    assert not leaves_unigram_level(1.0, unigram_loss(np.array([1, 2]), np.array([0, 0])))
