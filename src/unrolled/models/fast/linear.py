"""Linear layers over whole sequences, with few different numbers of rows (see ``rows``), in training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from unrolled.models.fast.products import product_dtype
from unrolled.models.fast.rows import FEWEST, compiled, rounded_up


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b: ``(..., I)`` -> ``(..., O)``, as `functional.linear`."""
    return _of_rounded(x, weight, lambda rows: functional.linear(rows, weight, bias))


@contextmanager
def rounding(model: nn.Module) -> Iterator[None]:
    """In this context, the linear layers of ``model`` round their numbers of rows up, if autocast is to bfloat16."""
    layers = []
    if torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16:
        layers = [one for one in model.modules() if type(one) is nn.Linear and "forward" not in vars(one)]
    try:
        for layer in layers:
            layer.forward = _rounding(layer, layer.forward)  # type: ignore[method-assign, assignment]
        yield
    finally:
        for layer in layers:
            del layer.forward


def _rounding(layer: nn.Linear, product: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: _of_rounded(x, layer.weight, product)


def _of_rounded(x: Tensor, weight: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
    dtype, rows = product_dtype(weight), x.shape[:-1].numel()
    if rows < FEWEST or not compiled(x, dtype):
        return product(x)
    y = product(rounded_up(x.to(dtype).flatten(0, -2)))
    return y[:rows].unflatten(0, x.shape[:-1])
