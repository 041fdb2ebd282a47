"""Steps without a hand-written backward pass, in bounded memory: the first ones keep what it needs, and the others
compute that again."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from unrolled.models.state import tensors_of

KEPT_BYTES = 2**29
"""The most that is kept for the backward pass, besides the states of all steps; the first step is kept in any case."""
LARGE_BYTES = 2**20
"""On a CPU, a result of at least this size gets a place of its own."""
PLACES = 16
"""Steps for which places are allocated at a time."""


class Recomputed:
    """``step`` of ``model``, whose inputs have the same shapes each time, so that all steps keep equally much."""

    def __init__(self, step: Callable[..., Any], model: nn.Module) -> None:
        self._step = step
        self._model = model
        self._left: int | None = None
        self._each = 0
        self._places: dict[Any, list[Tensor]] = {}

    def __call__(self, *inputs: Any) -> Any:
        """One step."""
        if self._left is None:
            results, self._each = self._counted(inputs)
            self._left = KEPT_BYTES - self._each
            return results
        self._left -= self._each
        if self._left >= 0:
            return self._step(*inputs)
        results = checkpoint(self._step, *inputs, use_reentrant=False)
        return self._in_places(results, {_place(tensor) for tensor in tensors_of(inputs)})

    def _in_places(self, results: Any, given: set[int]) -> Any:
        """``results`` with large tensors copied to places that were allocated together.

        The allocator would put a step's result into a gap between tensors that are about to be freed. The next step
        then found no room there, and with pooled attention each step cost four times its memory v.
        """
        if isinstance(results, Tensor):
            large = results.nbytes >= LARGE_BYTES and results.device.type == "cpu"
            return self._copied(results) if large and _place(results) not in given else results
        return tuple(self._in_places(result, given) for result in results) if type(results) is tuple else results

    def _copied(self, tensor: Tensor) -> Tensor:
        places = self._places.setdefault((tensor.shape, tensor.dtype), [])
        if not places:
            places += tensor.detach().new_empty((PLACES, *tensor.shape)).unbind()
        copied: Tensor = _Copied.apply(tensor, places.pop())  # type: ignore[no-untyped-call]
        return copied

    def _counted(self, inputs: tuple[Any, ...]) -> tuple[Any, int]:
        """A step, and the bytes that it keeps besides its inputs and the parameters."""
        given = {_place(tensor) for tensor in (*self._model.parameters(), *tensors_of(inputs))}
        kept = 0

        def count(tensor: Tensor) -> Tensor:
            nonlocal kept
            if _place(tensor) not in given:
                kept += tensor.nbytes
            return tensor

        with saved_tensors_hooks(count, _itself):
            return self._step(*inputs), kept


class _Copied(torch.autograd.Function):
    """The identity, with its result in a given place."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, place: Tensor) -> Tensor:
        # not a view: autograd would treat each step's state as a part of one tensor
        copied = tensor.new_empty(0).set_(place.untyped_storage(), place.storage_offset(), place.shape, place.stride())
        return copied.copy_(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return *gradients, None


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
