"""What a generator's state says about itself, and what can be done with any."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


class PerSentence(tuple):  # type: ignore[type-arg]
    """A part of a state that belongs to the sentence: one row for all its hypotheses, whatever search does with them.

    In every way else a tuple of tensors, their first dimension the batch.
    """

    __slots__ = ()


def map_state(function: Callable[[Tensor], Tensor], state: Any) -> Any:
    """The nested tuple of ``function`` of every tensor."""
    return function(state) if isinstance(state, Tensor) else type(state)(map_state(function, part) for part in state)
