"""What every search runs and what it returns: generators, their nested states, hypotheses.

N rows of a state, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from unrolled.models.state import PerSentence

Nested = Any
"""A tensor whose first dimension is the batch, or a tuple of such nested structures, perhaps empty."""


class Generator(Protocol):
    """Anything that generates word by word."""

    def start(self, batch: Any, /) -> Nested:
        """The state before the first word, a row for each sentence of ``batch``."""
        ...

    def step(self, tokens: Tensor, state: Any, /) -> tuple[Tensor, Nested]:
        """Previous words ``(N,)`` -> log-probabilities of the next ``(N, V)``, following state."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One output: ``tokens`` without <s> and </s>.

    ``score`` is the normalised ``log_probability``; the latter includes </s> if the hypothesis is ``finished`` by it.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool


def select(state: Nested, index: Tensor, sentences: Tensor | None = None) -> Nested:
    """The rows ``index (M,)`` of every tensor ``(N, ...)`` in ``state``: each ``(M, ...)``.

    Per-sentence parts are indexed by ``sentences (L,)`` (ascending) instead; if L is their number of rows, all of them
    are kept and nothing is copied.
    """
    if isinstance(state, Tensor):
        return state if index is sentences and len(index) == len(state) else state.index_select(0, index)
    if sentences is not None and isinstance(state, PerSentence):
        index = sentences
    return type(state)(select(inner, index, sentences) for inner in state)


def device_of(state: Nested) -> torch.device | None:
    """Where the first tensor of ``state`` is; None if it holds none."""
    if isinstance(state, Tensor):
        return state.device
    return next((device for inner in state if (device := device_of(inner))), None)


class Search(Protocol):
    """Finds the best translation of every row of a batch."""

    @property
    def weights(self) -> str:
        """The kind of weights in its products: float or int8."""
        ...

    def __call__(self, generator: Any, batch: Any) -> list[Hypothesis]:
        """One hypothesis per row, in the batch's order."""
        ...
