"""Matrix products of 8-bit integers, for weights that do not change: a quarter of the memory, a third of the time.

N rows, I inputs, O outputs. Each row of x and each row of W has its own scale, so that a row's product does not depend
on the other rows but in its last digit, and a sentence translates the same in every batch:

    x_ni ~ t_n q_ni / L,   t_n = max_i |x_ni|;      W_oi ~ s_o p_oi,   s_o = max_i |W_oi| / 127
    y_no = t_n (s_o / L) sum_i q_ni p_oi + b_o

q and p are integers, |q| <= L. A processor with VNNI instructions adds pairs of products in 32 bits (L = 127), others
in 16, which overflow unless L = 63. oneDNN's product is an operation that torch has for its own compiler and does not
promise to keep. So, as in `products`, it is tried once, which also shows the right L for this machine.
"""

from functools import cache

import torch
from torch import Tensor, nn

LEVELS = (127, 63)
TINY = 1e-30  # a row of zeros stays one


class QuantizedProduct:
    """W ``(O, I)`` in 8 bits for about ``rows`` rows at a time, and b ``(O,)`` or None."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int, levels: int) -> None:
        # s_o = max_i |W_oi| / 127
        self._scales = weight.abs().amax(dim=1).clamp_min(TINY) / 127
        p = (weight / self._scales.unsqueeze(1)).round_().to(torch.int8)
        self._blocks = torch.ops.onednn.qlinear_prepack(p, [rows, weight.shape[1]])
        self._zeros = torch.zeros(len(weight), dtype=torch.int64)
        self._bias = None if bias is None else bias.contiguous()
        self._levels = levels

    def __call__(self, x: Tensor) -> Tensor:
        """``(N, I)`` float32 -> x W^T + b ``(N, O)``."""
        # q = L x / t, t = max_i |x_i|, stored without a sign: q + L + 1
        t = x.abs().amax(dim=1, keepdim=True).clamp_min_(TINY)
        q = torch.mul(x, self._levels / t).round_().to(torch.int8).view(torch.uint8)
        zero = self._levels + 1
        y = torch.ops.onednn.qlinear_pointwise(
            q.add_(zero),
            1 / self._levels,
            zero,
            self._blocks,
            self._scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return y.mul_(t) if self._bias is None else torch.addcmul(self._bias, y, t, out=y)


def quantize(weight: Tensor, bias: Tensor | None, rows: int) -> QuantizedProduct | None:
    """W ``(O, I)`` for products of 8-bit integers with about ``rows`` rows; None where they are not available."""
    plain = type(weight) in (Tensor, nn.Parameter) and weight.dtype == torch.float32
    if not plain or weight.device.type != "cpu" or not torch.backends.mkldnn.enabled or weight.isnan().any():
        return None
    exact_levels = levels()
    return None if exact_levels is None else QuantizedProduct(weight, bias, rows, exact_levels)


@cache
def levels() -> int | None:
    """The greatest L whose products are right here, tried on sums of extreme values; None if there is none."""
    x, weight, bias = torch.ones(2, 64), torch.ones(5, 64), torch.arange(5.0)
    x[1, ::3] = -1
    for count in LEVELS:
        try:
            y = QuantizedProduct(weight, bias, rows=2, levels=count)(x)
        except (AttributeError, RuntimeError, TypeError, NotImplementedError):
            return None
        if torch.allclose(y, torch.addmm(bias, x, weight.t()), rtol=1e-4, atol=1e-4):
            return count
    return None
