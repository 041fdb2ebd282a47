"""The probe finds the maximum of its likelihood, and the area is that over all pairs."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.metrics.linear_probe import RIDGE, area_under_curve, fit

few = settings(max_examples=25)


@few
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), max_size=12))
def test_the_area_is_the_share_of_pairs_in_the_right_order(examples):
    yes = [score for score, label in examples if label]
    no = [score for score, label in examples if not label]
    found = area_under_curve([score for score, _ in examples], [label for _, label in examples])
    if not yes or not no:
        assert math.isnan(found)
        return
    right = [(one > other) + (one == other) / 2 for one in yes for other in no]
    assert found == pytest.approx(sum(right) / len(right))


@few
@given(seed=st.integers(0, 99), scale=st.sampled_from([1.0, 1e-3, 50.0]))
def test_no_direction_leads_up_from_what_was_found(seed, scale):
    """By torch's gradient of the likelihood of raw features, in which the probe's weights are w / deviation."""
    draw = np.random.default_rng(seed)
    x = scale * draw.normal(size=(60, 3)) + 5
    y = draw.random(60) < 1 / (1 + np.exp(-(x[:, 0] - 5) / scale))
    probe = fit(x, y)
    weights = torch.tensor(probe.weights, requires_grad=True)
    bias = torch.tensor(probe.bias, dtype=torch.float64, requires_grad=True)
    odds = torch.tensor((x - x.mean(0)) / x.std(0)) @ weights + bias
    target = torch.tensor(y, dtype=torch.float64)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(odds, target) + RIDGE / 2 * (weights**2).sum()
    loss.backward()
    assert weights.grad is not None
    assert bias.grad is not None
    assert max(weights.grad.abs().max().item(), bias.grad.abs().item()) < 1e-8
    np.testing.assert_allclose(probe.scores(x), odds.detach().numpy())


def test_classes_that_a_plane_separates_and_features_that_never_change():
    x = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])
    probe = fit(x, [False, False, True, True])
    assert area_under_curve(probe.scores(x), [False, False, True, True]) == 1
    assert np.isfinite(probe.weights).all()
    assert probe.weights[1] == 0


def test_one_class_alone_has_no_plane_but_an_answer():
    assert np.isfinite(fit([[1.0], [2.0]], [True, True]).scores([[3.0]])).all()
