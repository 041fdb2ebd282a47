"""Kernels: the step of a cell, an attention or a decoder, forward and backward.

Letters: T steps, B batch, I input size, D state size, S source length, C annotation size, Q query size.

A kernel is one part of a step (a cell, an attention, a linear map) for all steps of one call. ``forward(t, ...)`` runs
step t and keeps what the backward pass needs; ``backward(t, ...)`` computes the gradients of its inputs from those of
its outputs, with t descending; ``gradients`` then returns those of everything that all steps share, if possible by one
product over all of them. In the code ``dx`` is the gradient of the loss with respect to x.
"""

import torch
from torch import Tensor


def differentiated_once(function: str, definition: str) -> None:
    """RuntimeError, in the backward pass of ``function``, if that is to be differentiated too (create_graph=True).

    torch's once_differentiable raises later, and only where the second derivative passes through the function.
    torch.autograd.grad goes around that, to the inputs it is asked for, and returned a part as the whole.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{function} can be differentiated only once; use {definition} to do it twice")


class Kernel:
    """The contract; see the top of the file.

    ``inputs``: the tensors, the same in all steps, whose gradients ``gradients`` returns, in this order.
    ``kept``: what the forward pass keeps for the backward pass. Between the two, autograd holds both, so that it can
    free them.
    """

    def __init__(self, *inputs: Tensor) -> None:
        self.inputs = inputs
        self.kept: tuple[Tensor, ...] = ()

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """Name the inputs, weights of products in ``dtype``. ``state``: any state ``(B, D)``, for its dtype."""
        raise NotImplementedError

    def begin(self, steps: int, state: Tensor) -> None:
        """After ``load``, before the first step: allocate ``kept``."""
        raise NotImplementedError

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """After ``load``, before the first step backwards: allocate the gradients."""
        raise NotImplementedError


class CellKernel(Kernel):
    """A recurrent cell whose whole state is its output. ``gates``: its input products are ``gates`` times D wide."""

    gates: int

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """Input products ``(B, gates * D)`` and s_{t-1} ``(B, D)`` -> s_t into ``out (B, D)``."""
        raise NotImplementedError

    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """ds_t ``(B, D)``, which it overwrites, and s_{t-1} -> dx into ``dx (B, gates * D)``, returns ds_{t-1}."""
        raise NotImplementedError

    def gradients(self, states: Tensor, dx: Tensor) -> tuple[Tensor, ...]:
        """s_0 ... s_{T-1} ``(T, B, D)`` and dx ``(T, B, gates * D)`` -> gradients of ``inputs``."""
        raise NotImplementedError


class AttentionKernel(Kernel):
    """An attention, which holds its memory. ``annotations (B, S, C)`` are available from ``begin`` on."""

    annotations: Tensor

    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        """``(B, Q)`` -> into ``context (B, C)`` and ``weights (B, S)``."""
        raise NotImplementedError

    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """Gradients of the outputs ``(B, C)``, ``(B, S)``, and the weights ``(B, S)`` -> dquery ``(B, Q)``."""
        raise NotImplementedError

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """All queries ``(T, B, Q)`` and weights ``(T, B, S)`` -> gradients of ``inputs``."""
        raise NotImplementedError
