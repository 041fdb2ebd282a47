"""Matrix products in the precision of their weight, while states, sums and gradients keep theirs.

Under autocast only the product has lower precision. N rows, I inputs, O outputs, T steps, B batch.

On a CPU with oneDNN a weight is reordered (packed) once for many products. oneDNN keeps it in blocks that fit its inner
loop; with few rows, as in a recurrence, such a product takes 65 to 90 % of ``torch.mm``'s time if the weight is large.
Otherwise, or for few products, ``torch.mm`` is used, as packing would take longer than it saves. On Intel's CPUs, where
``torch.mm`` computes with MKL, it is as quick as oneDNN, so a training's products of float32 are never packed. torch
has these operations for its own compiler and does not promise to keep them, so they are checked once on a small
product; if missing or wrong, ``torch.mm`` is used too.
``torch.backends.mkldnn.flags(enabled=False)`` turns them off.
"""

from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from unrolled.models.fast.processor import INTEL
from unrolled.models.fast.rows import compiled, rounded_up

LARGE = 2**18  # elements of a weight whose products are faster when packed


def product_dtype(weight: Tensor) -> torch.dtype:
    """The dtype of products with ``weight``: autocast's dtype if it is on and the weight is float32."""
    device = weight.device.type
    if torch.is_autocast_enabled(device) and weight.dtype == torch.float32:
        return torch.get_autocast_dtype(device)
    return weight.dtype


class Product:
    """``times`` x W^T + b with the same W ``(O, I)``, and b ``(O,)`` if there is one, for about ``rows`` rows each."""

    def __init__(self, weight: Tensor, *, rows: int, times: int, bias: Tensor | None = None) -> None:
        self._weight = weight
        self._bias = None if bias is None else bias.to(weight.dtype)
        self._compiled = compiled(weight, weight.dtype)
        self._packed = pack(weight, self._bias, rows) if worth_packing(weight, rows, times) else None

    def __call__(self, x: Tensor) -> Tensor:
        """``(N, I)`` -> x W^T + b ``(N, O)``, a new tensor of x's dtype."""
        if x.dtype == self._weight.dtype and not self._compiled:  # small models call this a hundred times an update
            return self._multiply(x)
        y = self._multiply(rounded_up(x.to(self._weight.dtype)))
        return (y if len(y) == len(x) else y[: len(x)]).to(x.dtype)

    def _multiply(self, x: Tensor) -> Tensor:
        return functional.linear(x, self._weight, self._bias) if self._packed is None else self._packed(x)

    def add_to(self, out: Tensor, x: Tensor) -> Tensor:
        """``out (N, O)`` += x W^T + b."""
        return out.add_(self(x))


def add_outer(out: Tensor, dy: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of W in y = x W^T: ``out (O, I)`` += dy^T x, the product in ``dtype``; ``(N, O)``, ``(N, I)``."""
    if out.dtype == dy.dtype == x.dtype == dtype:
        return out.addmm_(dy.t(), x)
    return out.add_(_sum_of_outer(dy.to(dtype), x.to(dtype)))


def weight_gradient(dy: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of W in y = x W^T, all steps in one product: sum_t dy_t^T x_t.

    ``(T, B, O)``, ``(T, B, I)`` -> ``(O, I)``, the product in ``dtype``.
    """
    return _sum_of_outer(dy.to(dtype).flatten(0, 1), x.to(dtype).flatten(0, 1)).to(dy.dtype)


def _sum_of_outer(dy: Tensor, x: Tensor) -> Tensor:
    return torch.mm(rounded_up(dy).t(), rounded_up(x))


class Packed:
    """W ``(O, I)``, reordered for about ``rows`` rows at a time, and b ``(O,)`` or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int) -> None:
        self._blocks = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
        self._bias = None if bias is None else bias.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        """``(N, I)`` -> x W^T + b ``(N, O)``."""
        return torch.ops.mkldnn._linear_pointwise(x.contiguous(), self._blocks, self._bias, "none", [], None)


def worth_packing(weight: Tensor, rows: int, times: int) -> bool:
    """Whether ``times`` products of ``rows`` rows save more than packing takes (benchmarks/packing.py)."""
    if INTEL and weight.dtype == torch.float32:
        return False
    return weight.numel() >= LARGE and times * (rows + 32) >= 1000


def pack(weight: Tensor, bias: Tensor | None, rows: int) -> Packed | None:
    """W ``(O, I)`` for products with about ``rows`` rows; None if packing is impossible or useless."""
    plain = type(weight) in (Tensor, nn.Parameter)
    if not plain or weight.device.type != "cpu" or not torch.backends.mkldnn.enabled or rows == 0:
        return None
    return Packed(weight, bias, rows) if packs(weight.dtype) else None


@cache
def packs(dtype: torch.dtype) -> bool:
    """Whether weights of this dtype can be packed here: checked on a small product."""
    if dtype not in (torch.float32, torch.bfloat16):
        return False
    if dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return False
    weight = torch.arange(15.0).reshape(5, 3).to(dtype)
    x, bias = torch.arange(6.0).reshape(2, 3).to(dtype), torch.arange(5.0).to(dtype)
    try:
        return torch.equal(Packed(weight, bias, rows=2)(x), torch.addmm(bias, x, weight.t()))
    except (AttributeError, RuntimeError, TypeError, NotImplementedError):
        return False
