"""An unroll that keeps every recurrent state as a node of the graph, to differentiate with respect to it.

Letters: B batch, T steps, I input size, H state size. The fast unroll exposes only its outputs; this is the plain loop
over ``step``. The tensors of a state are separate coordinates: the derivative with respect to an LSTM's c_t excludes
the effect of c_t on h_t within the same step, as h_t has its own derivative; so does that with respect to a decoder's
s_t the effect on h~_t of input feeding.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from unrolled.models.cells import Cell, CellState
from unrolled.models.state import PerSentence


class Trace(NamedTuple):
    """Teacher forcing, step by step."""

    states: list[tuple[Tensor, ...]]
    """The recurrent state after each of the T words: the tensors ``(B, H)`` of all layers."""
    log_probs: Tensor
    """log p of each following word ``(B, T)``; arbitrary at padding."""


@runtime_checkable
class Recurrent(Protocol):
    """A model whose recurrent states can be inspected."""

    def trace(self, batch: Any) -> Trace:
        """The states and predictions for the targets of ``batch``, with autograd on."""
        ...


class TracedLayer(NamedTuple):
    """What a cell read, and its states."""

    cell: Cell
    inputs: Tensor
    """``(B, T, I)``"""
    states: list[CellState]
    """T + 1 states, beginning with the initial one."""


class Tracer:
    """Unrolls cells like ``Cell.unroll_plainly``, and keeps them in ``layers``, in order."""

    def __init__(self) -> None:
        self.layers: list[TracedLayer] = []

    def __call__(self, cell: Cell, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """All steps: ``(B, T, I)``, state -> outputs ``(B, T, H)``, last state."""
        states = [state]
        for projected in cell.project(inputs).unbind(1):
            state = cell.step(projected, states[-1])
            states.append(apart(state, state[0]))
        self.layers.append(TracedLayer(cell, inputs, states))
        # steps first in memory, like the fast unroll, so that dropout draws the same
        return torch.stack([output for output, *_ in states[1:]]).transpose(0, 1), states[-1]

    def states(self) -> list[tuple[Tensor, ...]]:
        """For each of the T steps, the tensors of all layers' states, the lowest layer first."""
        layers = zip(*(layer.states[1:] for layer in self.layers), strict=True)
        return [tuple(tensor for state in step for tensor in state) for step in layers]


def apart(state: Any, output: Tensor | None = None) -> Any:
    """``state``, with each tensor except ``output`` replaced by a new node of the graph with the same value.

    ``output`` is kept, if the rest of its step, such as the readout, already uses that tensor.
    """
    if isinstance(state, PerSentence):
        return state
    if isinstance(state, Tensor):
        return state if state is output else state.view_as(state)
    return tuple(apart(inner, output) for inner in state)
