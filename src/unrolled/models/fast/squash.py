"""The squashing functions of gates and candidates in place, and their derivatives in one pass over memory."""

import torch
from torch import Tensor, nn

from unrolled.models.fast.products import product_dtype

CACHED = 2**18  # numbers that stay in a core's cache from one operation to the next


def tanh_(x: Tensor) -> Tensor:
    """tanh x = 2 sigma(2 x) - 1, in place: torch's sigma takes a sixth of its tanh's time on a CPU."""
    return x.mul_(2).sigmoid_().mul_(2).sub_(1)


def tanh(x: Tensor) -> Tensor:
    """tanh x, by ``tanh_`` in place if that is faster and nothing else needs x: in inference on a CPU.

    Not in half precision, whose 2 sigma - 1 would be inaccurate near 0.
    """
    quick = x.device.type == "cpu" and x.dtype.itemsize >= 4 and not torch.is_grad_enabled()
    return tanh_(x) if quick else torch.tanh(x)


def product_of_tanh(linear: nn.Linear, x: Tensor) -> Tensor:
    """W tanh x of a layer without a bias, ``(..., I) -> (..., O)``: where `tanh` is quick 2 W sigma(2 x) - W 1, which
    saves two passes over x."""
    if not _quick(linear, x):
        return linear(torch.tanh(x))
    return torch.sub(2 * linear((2 * x).sigmoid_()), linear.weight.sum(dim=1))


def product_of_tanh_of_sums(linear: nn.Linear, of_hypotheses: Tensor, of_sentences: Tensor) -> Tensor:
    """w^T tanh(x_k + y_j) for each hypothesis k of a sentence and each of its positions j, with w ``(1, I)``.

    ``(B K, I)``, ``(B, S, I)`` -> ``(B K, S)``. Where `tanh` is quick, some sentences at a time, whose sums stay in
    the cache: half of the time of whole passes.
    """
    sentences, positions, size = of_sentences.shape
    x, y = of_hypotheses.view(sentences, -1, 1, size), of_sentences.unsqueeze(1)
    if not _quick(linear, y):
        return linear(torch.tanh(x + y)).flatten(0, 1).squeeze(-1)
    # w^T tanh(x + y) = 2 w^T sigma(2 x + 2 y) - w^T 1
    rows = x.shape[1] * positions
    some = max(1, CACHED // max(1, rows * size))
    sums, twice, energies = y.new_empty(some, x.shape[1], positions, size), 2 * x, y.new_empty(sentences * rows)
    for first in range(0, sentences, some):
        few = min(some, sentences - first)
        u = torch.add(twice[first : first + few], y[first : first + few], alpha=2, out=sums[:few]).sigmoid_()
        torch.mv(u.view(-1, size), linear.weight[0], out=energies[first * rows : (first + few) * rows])
    return energies.mul_(2).sub_(linear.weight.sum()).view(len(of_hypotheses), positions)


def _quick(linear: nn.Linear, x: Tensor) -> bool:
    precise = x.dtype.itemsize >= 4 and product_dtype(linear.weight).itemsize >= 4
    return precise and x.device.type == "cpu" and not torch.is_grad_enabled()


def tanh_backward(dy: Tensor, y: Tensor, out: Tensor) -> None:
    """y = tanh(x): dx = (1 - y^2) dy. ``out`` may be ``dy``."""
    torch.ops.aten.tanh_backward.grad_input(dy, y, grad_input=out)


def sigmoid_backward(dy: Tensor, y: Tensor, out: Tensor) -> None:
    """y = sigma(x): dx = y (1 - y) dy. ``out`` may be ``dy``."""
    torch.ops.aten.sigmoid_backward.grad_input(dy, y, grad_input=out)
