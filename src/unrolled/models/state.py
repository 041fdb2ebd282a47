"""Per-sentence parts of a generator's state, and mapping a function over any state."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor


class PerSentence(tuple):  # type: ignore[type-arg]
    """Tensors of a state that belong to the sentence: one row for all its hypotheses, whatever search does with them.

    Otherwise an ordinary tuple of tensors whose first dimension is the batch.
    """

    __slots__ = ()


def map_state(function: Callable[[Tensor], Tensor], state: Any) -> Any:
    """``state`` with ``function`` applied to every tensor."""
    return function(state) if isinstance(state, Tensor) else type(state)(map_state(function, inner) for inner in state)


def joined(states: Sequence[Any]) -> Any:
    """The state of the batch that consists of the batches of ``states``, one after the other."""
    first = states[0]
    return torch.cat(list(states)) if isinstance(first, Tensor) else type(first)(map(joined, zip(*states, strict=True)))


def tensors_of(state: Any) -> Iterator[Tensor]:
    """The tensors of ``state``, in order; what is neither a tensor nor a tuple is passed over."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, tuple):
        for inner in state:
            yield from tensors_of(inner)


def is_by_position(tensor: Tensor, positions: int) -> bool:
    """Whether a tensor of a state is ``(N, S, X)``, X numbers for each of S ``positions`` of the source."""
    return tensor.dim() == 3 and tensor.shape[1] == positions
