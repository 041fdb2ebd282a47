"""The squashing functions in place."""

import pytest
import torch

from unrolled.models.fast import squash
from unrolled.models.fast.squash import product_of_tanh, product_of_tanh_of_sums, tanh


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_tanh_without_gradients_is_exact_near_zero(dtype):
    x = torch.tensor([1e-3, -2e-4], dtype=dtype)
    with torch.no_grad():
        torch.testing.assert_close(tanh(x.clone()), torch.tanh(x), rtol=1e-3, atol=0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_a_product_of_tanh_is_the_product_of_tanh(scale):
    torch.manual_seed(2)
    linear, x = torch.nn.Linear(13, 3, bias=False), scale * torch.randn(2, 5, 13)
    expected = linear(torch.tanh(x))
    with torch.no_grad():
        torch.testing.assert_close(product_of_tanh(linear, x), expected, atol=2e-6, rtol=1e-5)
    assert torch.equal(product_of_tanh(linear, x), expected)  # with gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("sentences", "beam", "positions"), [(7, 3, 5), (1, 1, 1), (2, 4, 0)])
def test_a_product_of_tanh_of_sums_is_one_of_hypotheses_and_their_sentence(
    dtype, sentences, beam, positions, monkeypatch
):
    torch.manual_seed(3)
    linear = torch.nn.Linear(13, 1, bias=False).to(dtype)
    x, y = torch.randn(sentences, beam, 13, dtype=dtype), torch.randn(sentences, positions, 13, dtype=dtype)
    expected = linear(torch.tanh(x.unsqueeze(2) + y.unsqueeze(1))).view(sentences * beam, positions)
    tolerances = {"atol": 2e-6, "rtol": 1e-5} if dtype != torch.bfloat16 else {"atol": 2e-2, "rtol": 1e-2}
    for cached in (2**18, 2 * beam * positions * 13, 1):  # all sentences at a time, two, one
        monkeypatch.setattr(squash, "CACHED", cached)
        with torch.no_grad():
            torch.testing.assert_close(product_of_tanh_of_sums(linear, x.flatten(0, 1), y), expected, **tolerances)
    assert torch.equal(product_of_tanh_of_sums(linear, x.flatten(0, 1), y), expected)  # with gradients
