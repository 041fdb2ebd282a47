"""An unroll that keeps every recurrent state as a node of the graph, so that one can differentiate with respect to it.

Letters: B batch, T steps, I input size, H state size. What trains fast shows its outputs only; this is the plain loop
over ``step``. The tensors of a state are coordinates of their own: the derivative with respect to an LSTM's c_t leaves
out what c_t did to h_t within its own step, as h_t has a derivative itself.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from unrolled.models.cells import Cell, CellState
from unrolled.models.state import PerSentence


class Trace(NamedTuple):
    """Teacher forcing, seen step by step."""

    states: list[tuple[Tensor, ...]]
    """The recurrent state after each of the T words: the tensors ``(B, H)`` of all layers."""
    log_probs: Tensor
    """log p of each following word ``(B, T)``; anything at padding."""


@runtime_checkable
class Recurrent(Protocol):
    """A model whose recurrent states can be looked at."""

    def trace(self, batch: Any) -> Trace:
        """Its states and predictions for the targets of ``batch``; with autograd on."""
        ...


class TracedLayer(NamedTuple):
    """What a cell read and what it made of it."""

    cell: Cell
    inputs: Tensor
    """``(B, T, I)``"""
    states: list[CellState]
    """T + 1 of them, the first the one it was given."""


class Tracer:
    """Unrolls cells as ``Cell.unroll_plainly`` does, and keeps them in ``layers``, in their order."""

    def __init__(self) -> None:
        self.layers: list[TracedLayer] = []

    def __call__(self, cell: Cell, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """All steps: ``(B, T, I)``, state -> outputs ``(B, T, H)``, last state."""
        states = [state]
        for projected in cell.project(inputs).unbind(1):
            state = cell.step(projected, states[-1])
            states.append(apart(state, state[0]))
        self.layers.append(TracedLayer(cell, inputs, states))
        # steps first in memory, as the fast unroll has them, so that dropout draws alike
        return torch.stack([output for output, *_ in states[1:]]).transpose(0, 1), states[-1]

    def states(self) -> list[tuple[Tensor, ...]]:
        """For each of the T steps the tensors of all layers' states, the lowest first."""
        layers = zip(*(layer.states[1:] for layer in self.layers), strict=True)
        return [tuple(part for state in step for part in state) for step in layers]


def apart(state: Any, output: Tensor) -> Any:
    """``state`` as nested as before, each tensor but ``output`` a new node of the graph with the same value.

    What a step makes of its own output, the readout for one, it makes of the tensor ``output``; so that one stays.
    """
    if isinstance(state, PerSentence):
        return state
    if isinstance(state, Tensor):
        return state if state is output else state.view_as(state)
    return tuple(apart(part, output) for part in state)
