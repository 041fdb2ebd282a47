"""Products of 8-bit integers are near those of floats, and a row's product is its own."""

from unittest.mock import patch

import pytest
import torch

from unrolled.models.fast import int8
from unrolled.models.fast.int8 import levels, quantize

needed = pytest.mark.skipif(levels() is None, reason="this torch has no products of 8-bit integers here")


def weights(outputs=40, inputs=33, seed=1):
    torch.manual_seed(seed)
    return torch.randn(outputs, inputs), torch.randn(outputs)


@needed
@pytest.mark.parametrize("bias", [True, False])
def test_products_are_as_near_as_the_rounding_of_both_sides_allows(bias):
    weight, b = weights()
    b = b if bias else None
    x = torch.randn(5, 33) * torch.tensor([1.0, 100.0, 1e-3, 0.0, 7.0]).unsqueeze(1)
    found = quantize(weight, b, rows=5)(x)
    exact = torch.nn.functional.linear(x, weight, b)
    # half a step for each of the two factors of every term
    t, s = x.abs().amax(dim=1, keepdim=True) / levels(), weight.abs().amax(dim=1) / 127
    bound = (t * weight.abs().sum(dim=1) + s * x.abs().sum(dim=1, keepdim=True) + t * s * 33) / 2
    assert ((found - exact).abs() <= bound + 1e-5 * exact.abs()).all()
    assert not torch.equal(found, exact)


@needed
def test_the_rows_beside_a_row_change_its_last_digit_at_most():
    """A CPU may have another kernel for another number of rows, which rounds elsewhere; a shared scale would show."""
    product = quantize(*weights(), rows=64)
    x = torch.randn(29, 33) * torch.arange(1.0, 30).unsqueeze(1)
    together = product(x)
    for rows in (slice(0, 1), slice(3, 10), slice(28, 29)):
        torch.testing.assert_close(product(x[rows]), together[rows], rtol=1e-6, atol=2e-6)


def test_without_right_products_there_are_none():
    weight, bias = weights()
    assert quantize(weight.double(), bias.double(), rows=3) is None
    with patch.object(int8, "levels", lambda: None):
        assert quantize(weight, bias, rows=3) is None


@pytest.mark.parametrize(("wrong", "found"), [(0, 127), (1, 63), (2, None)])
def test_so_many_levels_as_give_right_sums(wrong, found):
    class Overflowing:
        def __init__(self, weight, bias, rows, levels):
            self.weight, self.bias, self.wrong = weight, bias, levels in (127, 63)[:wrong]

        def __call__(self, x):
            return torch.addmm(self.bias, x, self.weight.t()) + self.wrong

    with patch.object(int8, "QuantizedProduct", Overflowing):
        assert levels.__wrapped__() == found


def test_a_torch_without_the_operation_has_no_levels():
    with patch.object(int8, "QuantizedProduct", side_effect=AttributeError):
        assert levels.__wrapped__() is None
