"""torch's LSTM, fused on CPU and GPU, in a precision that this machine supports.

Autocast asks oneDNN for a bfloat16 LSTM, which it does not have for CPUs without AVX-512. This is checked once on a
small example; if there is none, float32 is used, which is also faster on such a CPU.
"""

from functools import cache

import torch
from torch import Tensor


def lstm(
    inputs: Tensor, start: tuple[Tensor, Tensor], weights: list[Tensor], *, training: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """``(B, T, I)``, h and c ``(1, B, H)``, weights as for `torch.lstm` -> ``(B, T, H)``, the last h and c."""
    device = inputs.device.type
    if device != "cpu" or not torch.is_autocast_enabled(device) or runs(torch.get_autocast_dtype(device)):
        return _lstm(inputs, start, weights, training)
    with torch.autocast(device, enabled=False):
        h, c = start
        return _lstm(inputs.float(), (h.float(), c.float()), [weight.float() for weight in weights], training)


def _lstm(
    inputs: Tensor, start: tuple[Tensor, Tensor], weights: list[Tensor], training: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return torch.lstm(inputs, start, weights, True, 1, 0.0, training, False, True)


@cache
def runs(dtype: torch.dtype) -> bool:
    """Whether this CPU has an LSTM under autocast to ``dtype``, forwards and backwards."""
    weights = [torch.ones(shape, requires_grad=True) for shape in ((20, 3), (20, 5), (20,), (20,))]
    zeros = torch.zeros(1, 2, 5)
    try:
        with torch.enable_grad(), torch.autocast("cpu", dtype):
            outputs, _, _ = _lstm(torch.ones(2, 4, 3), (zeros, zeros), weights, True)
            torch.autograd.grad(outputs.sum(), weights)
    except RuntimeError:
        return False
    return True
