"""Matrix products whose precision is their weight's, while states, sums and gradients keep their own.

Under autocast the product alone is lowered. N rows, I inputs, O outputs, T steps, B batch.
"""

import torch
from torch import Tensor
from torch.nn import functional

from unrolled.models.fast.packing import pack


def product_dtype(weight: Tensor) -> torch.dtype:
    """What products with ``weight`` run in: autocast's dtype where it is on and the weight is float32."""
    device = weight.device.type
    if torch.is_autocast_enabled(device) and weight.dtype == torch.float32:
        return torch.get_autocast_dtype(device)
    return weight.dtype


class Product:
    """x W^T + b with the same W ``(O, I)``, and b ``(O,)`` if there is one, for about ``rows`` rows at a time."""

    def __init__(self, weight: Tensor, *, rows: int, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = None if bias is None else bias.to(weight.dtype)
        self._packed = pack(weight, self._bias, rows)

    def __call__(self, x: Tensor) -> Tensor:
        """``(N, I)`` -> x W^T + b ``(N, O)``, a new tensor of x's dtype."""
        low = x.to(self._weight.dtype)
        y = functional.linear(low, self._weight, self._bias) if self._packed is None else self._packed(low)
        return y.to(x.dtype)

    def add_to(self, out: Tensor, x: Tensor) -> Tensor:
        """``out (N, O)`` += x W^T + b."""
        return out.add_(self(x))


def add_outer(out: Tensor, dy: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of W in y = x W^T: ``out (O, I)`` += dy^T x, the product in ``dtype``; ``(N, O)``, ``(N, I)``."""
    if out.dtype == dy.dtype == x.dtype == dtype:
        return out.addmm_(dy.t(), x)
    return out.add_(torch.mm(dy.to(dtype).t(), x.to(dtype)))


def weight_gradient(dy: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of W in y = x W^T, all steps in one product: sum_t dy_t^T x_t.

    ``(T, B, O)``, ``(T, B, I)`` -> ``(O, I)``, the product in ``dtype``.
    """
    return torch.mm(dy.to(dtype).flatten(0, 1).t(), x.to(dtype).flatten(0, 1)).to(dy.dtype)
