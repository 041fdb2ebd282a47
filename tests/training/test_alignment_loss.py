import math

import numpy as np
import pytest
import torch
from support.small_models import B, S, T, build

from unrolled.errors import UserError
from unrolled.training.alignment_loss import (
    Supervision,
    check_supervision,
    cross_entropy,
    doubly_stochastic,
    squared_error,
)

KNOWN = torch.zeros(B, T, S, dtype=torch.float64)
KNOWN[0, 0, 1] = 1
KNOWN[1, 2, [0, 3]] = 0.5


def weights(seed=5):
    energies = torch.randn(B, T, S, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.softmax(energies, dim=-1)


def supervision(**changes):
    options = {"source": "given", "replace": False, "distance": cross_entropy, "weight": 1.0, "decay": 1.0}
    return Supervision(**options | changes)


def test_distances_follow_their_equations():
    alpha, a = weights().numpy(), KNOWN.numpy()
    places = list(np.ndindex(B, T, S))
    entropy = -sum(a[place] * math.log(alpha[place]) for place in places)
    assert cross_entropy(weights(), KNOWN).item() == pytest.approx(entropy, abs=1e-10)
    linked = [place for place in places if a[place[:2]].any()]
    error = sum((a[place] - alpha[place]) ** 2 for place in linked) / 2
    assert squared_error(weights(), KNOWN).item() == pytest.approx(error, abs=1e-10)


@pytest.mark.parametrize("distance", [cross_entropy, squared_error])
def test_distances_have_the_gradients_of_finite_differences(distance):
    energies = weights().log().requires_grad_()
    assert torch.autograd.gradcheck(lambda e: distance(torch.softmax(e, dim=-1), KNOWN), (energies,))


@pytest.mark.parametrize("distance", [cross_entropy, squared_error])
def test_descent_reaches_the_known_alignment(distance):
    energies = weights().log().requires_grad_()
    for _ in range(400):
        (gradient,) = torch.autograd.grad(distance(torch.softmax(energies, dim=-1), KNOWN), energies)
        with torch.no_grad():
            energies -= 4 * gradient
    found = torch.softmax(energies, dim=-1)
    torch.testing.assert_close(found[0, 0], KNOWN[0, 0], rtol=0, atol=0.05)
    torch.testing.assert_close(found[1, 2], KNOWN[1, 2], rtol=0, atol=0.05)
    torch.testing.assert_close(found[0, 1], weights()[0, 1])  # no links, nothing to learn


def test_a_weight_rounded_to_nothing_is_a_large_finite_loss():
    alpha = torch.zeros(1, 1, 2).index_fill_(2, torch.tensor([0]), 1.0).requires_grad_()
    loss = cross_entropy(alpha, torch.tensor([[[0.0, 1.0]]]))
    assert 40 < loss.item() < 50
    (gradient,) = torch.autograd.grad(loss, alpha)
    assert torch.isfinite(gradient).all()


def test_the_weight_falls_after_every_epoch():
    guide = supervision(weight=2.0, decay=0.5)
    plain = cross_entropy(weights(), KNOWN).item()
    assert [guide.loss(weights(), KNOWN, epoch).item() / plain for epoch in range(3)] == pytest.approx([2, 1, 0.5])


def test_doubly_stochastic_follows_its_equation_without_padding():
    counted = torch.tensor([[True, True, False], [True, True, True]])
    valid = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    alpha = weights() * valid.unsqueeze(1)
    alpha = alpha / alpha.sum(dim=2, keepdim=True)
    expected = 0.0
    for row, (steps, length) in enumerate([(2, 3), (3, 5)]):
        for j in range(length):
            expected += (steps / length - sum(alpha[row, i, j].item() for i in range(steps))) ** 2
    assert doubly_stochastic(alpha, counted, valid).item() == pytest.approx(expected, abs=1e-10)
    even = valid.unsqueeze(1) / valid.sum(dim=1)[:, None, None] * torch.ones(B, T, 1)
    assert doubly_stochastic(even, counted, valid).item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weight": -1.0}, "alignment.weight=-1.0"),
        ({"weight": float("nan")}, "alignment.weight=nan"),
        ({"weight": 0.0}, "alignment.weight=0 teaches nothing"),
        ({"decay": 0.0}, "alignment.decay=0.0"),
        ({"decay": 1.5}, "alignment.decay=1.5"),
    ],
)
def test_what_teaches_nothing_is_refused(changes, words):
    with pytest.raises(UserError, match=words):
        supervision(**changes)
    assert supervision(weight=0.0, replace=True).weight == 0


def test_a_model_without_attention_cannot_be_taught():
    model = build("encoder_decoder", "none")
    check_supervision(model, None, 0.0)
    with pytest.raises(UserError, match="alignment=none"):
        check_supervision(model, supervision(), 0.0)
    with pytest.raises(UserError, match="doubly_stochastic=0"):
        check_supervision(model, None, 0.5)
    with pytest.raises(UserError, match="doubly_stochastic=-1"):
        check_supervision(build("cgru"), None, -1.0)
