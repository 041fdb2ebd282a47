"""Linear layers while weights do not change, as during a search: each weight is packed once for all steps."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from unrolled.models.fast.products import Packed, pack, product_dtype

ROWS = 64
"""The number of rows that packing is optimised for; any number works."""


@contextmanager
def frozen(models: Iterable[nn.Module]) -> Iterator[None]:
    """Within it, the linear layers of ``models`` keep the weights and autocast's dtype that they have at the beginning.

    For use without gradients.
    """
    layers = {id(layer): layer for model in models for layer in model.modules() if type(layer) is nn.Linear}
    changed = []
    try:
        for layer in layers.values():
            dtype = product_dtype(layer.weight)
            bias = None if layer.bias is None else layer.bias.detach().to(dtype)
            packed = pack(layer.weight.detach().to(dtype), bias, ROWS)
            if packed is not None and layer.out_features > 1:
                layer.forward = FrozenLinear(packed, dtype)  # type: ignore[assignment,method-assign]
                changed.append(layer)
        yield
    finally:
        for layer in changed:
            del layer.forward


class FrozenLinear:
    """A linear layer ``(..., I)`` -> ``(..., O)``, in ``dtype`` as under autocast."""

    def __init__(self, packed: Packed, dtype: torch.dtype) -> None:
        self._packed = packed
        self._dtype = dtype

    def __call__(self, x: Tensor) -> Tensor:
        """x W^T + b."""
        y = self._packed(x.to(self._dtype).flatten(0, -2))
        return y.unflatten(0, x.shape[:-1])
