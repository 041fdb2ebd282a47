"""Pascanu, Mikolov and Bengio's regulariser: an error that is passed back through a step should keep its norm (2013).

Letters: B batch, T steps, N transitions, I input size, H state size. With E the loss of a sentence and x_k the state
after k words, for an LSTM h and c together, the paper's equation (9) is

    Omega = sum_k Omega_k = sum_k ( ||dE/dx_{k+1} dx_{k+1}/dx_k|| / ||dE/dx_{k+1}|| - 1 )^2

As in its section 3.3 only the immediate derivative is taken (equation 10): x_k, dE/dx_{k+1} and what the cell reads are
constants, and the parameters act through dx_{k+1}/dx_k alone. So every step of every sentence can be made at once: one
step of the cell on N rows, and one product of a vector with its Jacobian.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from unrolled.errors import NOT_NEGATIVE, UserError, check
from unrolled.models.cells import Cell, CellState
from unrolled.models.language_model import RecurrentLanguageModel
from unrolled.models.trace import TracedLayer


def check_regularization(weight: float, model: object) -> None:
    """UserError: ``weight`` is no number from 0, or is above 0 and ``model`` has no recurrent states."""
    name = "objective.gradient_regularization"
    check(name, weight, NOT_NEGATIVE)
    if weight > 0 and not isinstance(model, RecurrentLanguageModel):
        raise UserError(f"{name}={weight}: this model has no recurrent states: leave it 0, or take model=rnn_lm")


def omega(cell: Cell, inputs: Tensor, x: CellState, dx_next: CellState) -> Tensor:
    """sum_k Omega_k over N transitions: ``inputs (N, I)``, tensors ``(N, H)`` of x_k and of dE/dx_{k+1}, not zero.

    All are taken as constants; the result can be differentiated with respect to the cell's parameters.
    """
    x = tuple(part.detach().requires_grad_() for part in x)
    x_next = cell.step(cell.project(inputs.detach()), x)
    # dE/dx_k through x_{k+1} = dE/dx_{k+1} dx_{k+1}/dx_k
    dx = torch.autograd.grad(x_next, x, [part.to(of.dtype) for part, of in zip(dx_next, x_next)], create_graph=True)
    return ((_norm(dx) / _norm(dx_next) - 1) ** 2).sum()


def total_omega(loss: Tensor, layers: Sequence[TracedLayer]) -> Tensor:
    """Omega summed over all transitions of all sentences and layers, for a ``loss`` that the traced ``layers`` led to.

    Every layer is a recurrence of its own; the ones above it are part of E. A transition that no error comes back to,
    such as one to padding, has no Omega.
    """
    flat = [part for layer in layers for state in layer.states[1:] for part in state]
    gradients = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    total = loss.new_zeros(())
    for layer in layers:
        *before, _ = layer.states
        after = layer.states[1:]
        steps = [[torch.zeros_like(part) if d is None else d for part, d in zip(state, gradients)] for state in after]
        dx_next = tuple(torch.stack(parts, dim=1) for parts in zip(*steps))  # (B, T, H)
        there = _norm(dx_next) > 0
        x = tuple(torch.stack(parts, dim=1)[there] for parts in zip(*before))
        total = total + omega(layer.cell, layer.inputs[there], x, tuple(part[there] for part in dx_next))
    return total


def _norm(parts: Sequence[Tensor]) -> Tensor:
    """Of all parts of a state together: ``(..., H)`` each -> ``(...)``."""
    return torch.linalg.vector_norm(
        torch.cat([part.float() if part.dtype.itemsize < 4 else part for part in parts], dim=-1), dim=-1
    )
