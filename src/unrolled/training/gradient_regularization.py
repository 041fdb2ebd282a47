"""Pascanu, Mikolov and Bengio's regulariser (2013): an error passed back through a step should keep its norm.

Letters: B batch, T steps, N transitions, I input size, H state size. With E the loss of a sentence and x_k the state
after k words, for an LSTM h and c together, the paper's equation (9) is

    Omega = sum_k Omega_k = sum_k ( ||dE/dx_{k+1} dx_{k+1}/dx_k|| / ||dE/dx_{k+1}|| - 1 )^2

As in its section 3.3, only the immediate derivative is taken (equation 10): x_k, dE/dx_{k+1} and the cell's inputs are
constants, and the parameters act only through dx_{k+1}/dx_k. So every step of every sentence can be computed at once:
one step of the cell on N rows, and one product of a vector with its Jacobian.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from unrolled.errors import NOT_NEGATIVE, UserError, check
from unrolled.models.cells import Cell, CellState
from unrolled.models.language_model import RecurrentLanguageModel
from unrolled.models.trace import TracedLayer


def check_regularization(weight: float, model: object) -> None:
    """UserError: ``weight`` is not a number from 0, or is above 0 although ``model`` has no recurrent states."""
    name = "objective.gradient_regularization"
    check(name, weight, NOT_NEGATIVE)
    if weight > 0 and not isinstance(model, RecurrentLanguageModel):
        raise UserError(f"{name}={weight}: this model has no recurrent states: leave it at 0, or use model=rnn_lm")


def omega(cell: Cell, inputs: Tensor, x: CellState, dx_next: CellState) -> Tensor:
    """sum_k Omega_k over N transitions: ``inputs (N, I)``, tensors ``(N, H)`` of x_k and of dE/dx_{k+1}, not zero.

    All are taken as constants; the result can be differentiated with respect to the cell's parameters.
    """
    x = tuple(tensor.detach().requires_grad_() for tensor in x)
    x_next = cell.step(cell.project(inputs.detach()), x)
    # dE/dx_k through x_{k+1} = dE/dx_{k+1} dx_{k+1}/dx_k
    dx = torch.autograd.grad(x_next, x, [d.to(of.dtype) for d, of in zip(dx_next, x_next)], create_graph=True)
    return ((_norm(dx) / _norm(dx_next) - 1) ** 2).sum()


def total_omega(loss: Tensor, layers: Sequence[TracedLayer]) -> Tensor:
    """Omega summed over all transitions of all sentences and layers, for a ``loss`` computed by the traced ``layers``.

    Every layer is a separate recurrence, for which the layers above are part of E. A transition that receives no error,
    such as one to padding, has no Omega.
    """
    flat = [tensor for layer in layers for state in layer.states[1:] for tensor in state]
    gradients = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    total = loss.new_zeros(())
    for layer in layers:
        *before, _ = layer.states
        after = layer.states[1:]
        steps = [[torch.zeros_like(x) if d is None else d for x, d in zip(state, gradients)] for state in after]
        dx_next = tuple(torch.stack(tensors, dim=1) for tensors in zip(*steps))  # (B, T, H)
        reached = _norm(dx_next) > 0
        x = tuple(torch.stack(tensors, dim=1)[reached] for tensors in zip(*before))
        total = total + omega(layer.cell, layer.inputs[reached], x, tuple(d[reached] for d in dx_next))
    return total


def _norm(tensors: Sequence[Tensor]) -> Tensor:
    """The norm of all tensors of a state together: ``(..., H)`` each -> ``(...)``."""
    return torch.linalg.vector_norm(
        torch.cat([tensor.float() if tensor.dtype.itemsize < 4 else tensor for tensor in tensors], dim=-1), dim=-1
    )
