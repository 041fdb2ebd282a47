"""Energies without most of the padding."""

import pytest
import torch

from unrolled.models.fast import unpadded
from unrolled.models.fast.unpadded import energies_of_sums

SHAPES = [(7, 3, 5), (1, 1, 1), (2, 4, 9), (5, 1, 6), (2, 4, 0)]  # sentences, hypotheses of each, positions


def lengths(sentences, positions):
    """Of sentences in no order, none empty, one that is as long as can be."""
    return torch.tensor([1 + (3 * number + positions - 1) % max(positions, 1) for number in range(sentences)])


def masks(sentences, positions):
    """Padding at the end as in batches, and with a hole."""
    valid = torch.arange(positions) < lengths(sentences, positions).unsqueeze(1)
    holed = valid.clone()
    holed[:, :1] &= valid.sum(dim=1, keepdim=True) == 1
    return valid, holed


@pytest.mark.parametrize("quick_tanh", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("sentences", "beam", "positions"), SHAPES)
def test_energies_are_those_of_each_hypothesis_with_the_positions_of_its_sentence(
    dtype, sentences, beam, positions, quick_tanh, monkeypatch
):
    monkeypatch.setattr(unpadded, "QUICK_TANH", quick_tanh)
    torch.manual_seed(3)
    energy = torch.nn.Linear(13, 1, bias=False).to(dtype)
    queries, keys = torch.randn(sentences, beam, 13, dtype=dtype), torch.randn(sentences, positions, 13, dtype=dtype)
    expected = energy(torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1))).squeeze(-1)
    tolerances = {"atol": 2e-6, "rtol": 1e-5} if dtype != torch.bfloat16 else {"atol": 2e-2, "rtol": 1e-2}
    for valid in masks(sentences, positions):
        wanted = valid.unsqueeze(1).expand(-1, beam, -1)
        for cached in (2**18, 2 * beam * positions * 13, 1):  # all sentences at a time, a few, one
            monkeypatch.setattr(unpadded, "CACHED", cached)
            with torch.no_grad():
                energies = energies_of_sums(energy, queries.flatten(0, 1), keys, valid).view(expected.shape)
            assert energies.isfinite().all()
            torch.testing.assert_close(energies[wanted], expected[wanted], **tolerances)
        with_gradients = energies_of_sums(energy, queries.flatten(0, 1), keys, valid)
        assert torch.equal(with_gradients, expected.flatten(0, 1))


def test_padding_is_not_computed(monkeypatch):
    energy, keys = torch.nn.Linear(4, 1, bias=False), torch.randn(3, 9, 4)
    valid = torch.arange(9) < torch.tensor([2, 9, 3]).unsqueeze(1)
    keys[~valid] = float("nan")
    monkeypatch.setattr(unpadded, "CACHED", 1)
    with torch.no_grad():
        assert energies_of_sums(energy, torch.randn(6, 4), keys, valid).isfinite().all()
