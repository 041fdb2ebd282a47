"""The squashing functions of gates and candidates in place, and their derivatives in one pass over memory."""

import torch
from torch import Tensor, nn

from unrolled.models.fast.processor import INTEL
from unrolled.models.fast.products import product_dtype

QUICK_TANH = INTEL and torch.backends.cpu.get_cpu_capability() == "AVX512"
"""Whether torch's tanh takes as little time as its sigma: on Intel's CPUs with AVX-512, where MKL computes it.
Elsewhere tanh takes four to six times as long."""


def tanh_(x: Tensor) -> Tensor:
    """tanh x in place; 2 sigma(2 x) - 1 where that is quicker."""
    return x.tanh_() if QUICK_TANH else x.mul_(2).sigmoid_().mul_(2).sub_(1)


def tanh(x: Tensor) -> Tensor:
    """tanh x, by ``tanh_`` in place if that is faster and nothing else needs x: in inference on a CPU.

    Not in half precision, whose 2 sigma - 1 would be inaccurate near 0.
    """
    in_place = x.device.type == "cpu" and x.dtype.itemsize >= 4 and not torch.is_grad_enabled()
    return tanh_(x) if in_place else torch.tanh(x)


def product_of_tanh(linear: nn.Linear, x: Tensor) -> Tensor:
    """W tanh x of a layer without a bias, ``(..., I) -> (..., O)``: where `quick` and tanh is not, as 2 W sigma(2 x) -
    W 1, which saves two passes over x."""
    if QUICK_TANH or not quick(linear.weight, x):
        return linear(torch.tanh(x))
    return torch.sub(2 * linear((2 * x).sigmoid_()), linear.weight.sum(dim=1))


def quick(weight: Tensor, x: Tensor) -> bool:
    """Whether products of x with ``weight`` are in float32 or wider, on a CPU, and nothing is to be differentiated."""
    precise = x.dtype.itemsize >= 4 and product_dtype(weight).itemsize >= 4
    return precise and x.device.type == "cpu" and not torch.is_grad_enabled()


def tanh_backward(dy: Tensor, y: Tensor, out: Tensor) -> None:
    """y = tanh(x): dx = (1 - y^2) dy. ``out`` may be ``dy``."""
    torch.ops.aten.tanh_backward.grad_input(dy, y, grad_input=out)


def sigmoid_backward(dy: Tensor, y: Tensor, out: Tensor) -> None:
    """y = sigma(x): dx = y (1 - y) dy. ``out`` may be ``dy``."""
    torch.ops.aten.sigmoid_backward.grad_input(dy, y, grad_input=out)
