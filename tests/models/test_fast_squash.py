"""The squashing functions in place."""

import pytest
import torch

from unrolled.models.fast import squash
from unrolled.models.fast.squash import product_of_tanh, tanh, tanh_


@pytest.fixture(autouse=True, params=[True, False], ids=["by tanh", "by sigma"])
def both_ways(request, monkeypatch):
    """Whichever is quicker on this CPU."""
    monkeypatch.setattr(squash, "QUICK_TANH", request.param)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 2e-7), (torch.float64, 4e-16)])
def test_tanh_in_place(dtype, atol):
    x = torch.linspace(-20, 20, 1001, dtype=dtype)
    expected = torch.tanh(x.double())
    assert tanh_(x) is x
    torch.testing.assert_close(x.double(), expected, atol=atol, rtol=0)


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
