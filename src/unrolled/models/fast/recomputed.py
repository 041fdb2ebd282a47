"""Steps without a hand-written backward pass in bounded memory: what the first ones keep for it is kept, and what the
others would keep is computed again."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

KEPT_BYTES = 2**29
"""Kept for the backward pass, at most; the states of all steps come to it."""


class Recomputed:
    """``step`` of ``model``, whose inputs have the same shapes each time, so that each step keeps as much."""

    def __init__(self, step: Callable[..., Any], model: nn.Module) -> None:
        self._step = step
        self._model = model
        self._left: float | None = None
        self._each = 0.0

    def __call__(self, *inputs: Any) -> Any:
        """One step."""
        if self._left is None:
            self._left, self._each = KEPT_BYTES, float(self._kept_by(inputs))
        self._left -= self._each
        if self._left >= 0:
            return self._step(*inputs)
        return checkpoint(self._step, *inputs, use_reentrant=False)

    def _kept_by(self, inputs: tuple[Any, ...]) -> int:
        """Bytes that a step keeps besides its inputs and the parameters: found out by a step that is dropped."""
        given = {_place(tensor) for tensor in (*self._model.parameters(), *_tensors(inputs))}
        kept = 0

        def count(tensor: Tensor) -> None:
            nonlocal kept
            if _place(tensor) not in given:
                kept += tensor.nbytes

        with torch.random.fork_rng(devices=[]), saved_tensors_hooks(count, _never):
            self._step(*inputs)
        return kept


def _never(_: Any) -> Tensor:
    raise RuntimeError("this step was for counting")


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _tensors(nested: Any) -> Iterator[Tensor]:
    if isinstance(nested, Tensor):
        yield nested
    elif isinstance(nested, tuple):
        for each in nested:
            yield from _tensors(each)
