"""Weights reordered once for many products, on a CPU with oneDNN.

oneDNN keeps a weight in blocks that fit its inner loop; with few rows, as in a recurrence, such a product takes two
thirds of ``torch.mm``'s time. torch has these operations for its own compiler and does not promise to keep them, so
they are tried on a small product before they are relied upon, and where they are missing or wrong all goes on without.
``torch.backends.mkldnn.flags(enabled=False)`` turns them off.
"""

from functools import cache

import torch
from torch import Tensor, nn


class Packed:
    """W ``(O, I)``, reordered for about ``rows`` rows at a time, and b ``(O,)`` or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int) -> None:
        self._blocks = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows)
        self._bias = None if bias is None else bias.contiguous()

    def __call__(self, x: Tensor) -> Tensor:
        """``(N, I)`` -> x W^T + b ``(N, O)``."""
        return torch.ops.mkldnn._linear_pointwise(x.contiguous(), self._blocks, self._bias, "none", [], None)


def pack(weight: Tensor, bias: Tensor | None, rows: int) -> Packed | None:
    """W ``(O, I)`` for products with about ``rows`` rows; None where there is nothing to gain or no way to do it."""
    plain = type(weight) in (Tensor, nn.Parameter)
    if not plain or weight.device.type != "cpu" or not torch.backends.mkldnn.enabled or rows == 0:
        return None
    return Packed(weight, bias, rows) if packs(weight.dtype) else None


@cache
def packs(dtype: torch.dtype) -> bool:
    """Whether weights of this dtype can be packed here: tried on a small product."""
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
