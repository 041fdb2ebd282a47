"""Limits on lengths, and that normalisation does what beam search relies on."""

from math import ceil, floor
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.search.length import GNMT, NoNormalization, PerToken, check_limits, length_limits

lengths = st.lists(st.integers(1, 300), min_size=1, max_size=5)
hundredths = st.integers(0, 400)


def batch(of):
    return SimpleNamespace(source_lengths=torch.tensor(of))


@given(of=lengths, least=hundredths, most=hundredths, extra=st.integers(0, 20))
def test_limits_are_the_ratio_of_the_length_to_the_token(of, least, most, extra):
    """Ratios in hundredths, so that whole numbers say what is right."""
    shortest, longest = length_limits(batch(of), most / 100, extra, least / 100)
    assert longest.tolist() == [most * length // 100 + extra for length in of]
    assert shortest.tolist() == [min(-(-least * length // 100), long) for length, long in zip(of, longest.tolist())]


def test_a_translation_is_never_shorter_than_asked_for():
    assert (floor(0.9 * 2), ceil(0.9 * 2)) == (1, 2)
    assert length_limits(batch([2, 5, 30]), 1.0, 9, 0.9)[0].tolist() == [2, 5, 27]
    assert length_limits(batch([30]), 1.0, 9, 0.1)[0].tolist() == [3]  # 0.1 x 30 is a little more than 3
    assert length_limits(batch([2]), 0.9, 0, 0.9)[0].tolist() == [1]  # nor longer than allowed


@pytest.mark.parametrize("given", [(1e20, 10, 0.0), (-1.0, 10, 0.0), (1.0, -1, 0.0), (1.0, 0, 1.5)])
def test_limits_that_are_none_are_refused(given):
    with pytest.raises(UserError, match=r"search\.m(ax|in)_length"):
        check_limits(*given)


@pytest.mark.parametrize("score", [NoNormalization(), PerToken(), PerToken(power=0.3), GNMT(), GNMT(alpha=1.5)])
def test_scores_rise_with_the_probability_and_never_fall_with_the_length(score):
    log_p, length = torch.linspace(-50, 0, 40, dtype=torch.float64)[:, None], torch.arange(1, 60.0, dtype=torch.float64)
    scores = score(log_p, length).expand(40, 59)
    assert (scores.diff(dim=0) >= 0).all()
    assert (scores.diff(dim=1) >= 0).all()
