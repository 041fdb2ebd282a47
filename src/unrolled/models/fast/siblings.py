"""Products with a state that several hypotheses share, as they continue the same one: computed once for all of these.

N rows of a state, D of them different, I inputs and O outputs of a layer.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.models.state import PerSentence

COPIED = 64
"""Copying a number takes as long as this many multiplications."""


class Siblings:
    """Which rows of a search's state are equal. Without a call of ``renew`` none are known to be."""

    def __init__(self) -> None:
        self._tensors: dict[int, Tensor] = {}
        self._saved = 0.0

    def renew(self, rows: Tensor, state: Any) -> None:
        """``state`` consists of the ``rows (N,)`` of an earlier one; equal numbers are equal rows. On a CPU only."""
        self._tensors = {}
        if rows.device.type != "cpu" or not len(rows):
            return
        distinct, self._place = rows.unique(return_inverse=True)
        self._saved = 1 - len(distinct) / len(rows)
        if self._saved:
            # any of the equal rows: scatter_ keeps one of them
            self._row = torch.empty_like(distinct).scatter_(0, self._place, torch.arange(len(rows)))
            self._tensors = {id(tensor): tensor for tensor in _of_hypotheses(state)}

    def product(self, layer: nn.Linear, product: Any, x: Tensor) -> Tensor:
        """``product(x)``: ``(N, ..., I)`` -> ``(N, ..., O)``, from D rows if ``x`` is itself a tensor of the state."""
        if self._saved * layer.in_features < COPIED or id(x) not in self._tensors:
            return product(x)
        return product(x.index_select(0, self._row)).index_select(0, self._place)


@contextmanager
def siblings(models: Iterable[nn.Module]) -> Iterator[Siblings]:
    """In this context, the linear layers of ``models`` ask these `Siblings`. For use inside `frozen`."""
    known = Siblings()
    layers = {layer for model in models for layer in model.modules() if type(layer) is nn.Linear}
    before = {layer: vars(layer).get("forward") for layer in layers}
    try:
        for layer in layers:
            layer.forward = _asking(known, layer, layer.forward)  # type: ignore[method-assign]
        yield known
    finally:
        for layer, forward in before.items():
            del layer.forward
            if forward is not None:
                layer.forward = forward  # type: ignore[method-assign]


def _asking(known: Siblings, layer: nn.Linear, product: Any) -> Any:
    return lambda x: known.product(layer, product, x)


def _of_hypotheses(state: Any) -> Iterator[Tensor]:
    if isinstance(state, Tensor):
        yield state
    elif not isinstance(state, PerSentence):
        for inner in state:
            yield from _of_hypotheses(inner)
