"""Recurrent cells, one class per equation.

Letters: B batch, T steps, I input size, H hidden size.

Every cell has the same methods, so that they are interchangeable:

* ``project(inputs)``: the input-side products of all steps at once, ``(..., I) -> (..., gates * H)``;
* ``start(like, batch)``: the state before the first word, zeros (lecture: h_0 = 0);
* ``step(projected, state) -> state``: what is truly recurrent;
* ``state[0]`` is the output h, ``(B, H)``;
* ``unroll(inputs, state)``: all steps, as fast as we can; ``unroll_plainly`` is its definition.

All biases are on the input side, once; only ``GRUResetAfterTwoBiases`` has a second.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import UserError, nearest
from unrolled.models.fast.cells import GRUResetAfterKernel, GRUResetBeforeKernel, TanhCellKernel, unroll_cell
from unrolled.models.fast.kernel import CellKernel
from unrolled.models.fast.lstm import lstm
from unrolled.models.fast.squash import tanh

CellState = tuple[Tensor, ...]


class Cell(nn.Module):
    """The contract; see the top of the file."""

    hidden_size: int
    input: nn.Linear

    def project(self, inputs: Tensor) -> Tensor:
        """Input-side products, ``(..., I) -> (..., gates * H)``."""
        raise NotImplementedError

    def start(self, like: Tensor, batch: int) -> CellState:
        """The zero state for ``batch`` rows, with the dtype and device of ``like``."""
        raise NotImplementedError

    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One step from ``(B, gates * H)`` and the previous state to the next state."""
        raise NotImplementedError

    def kernel(self) -> CellKernel | None:
        """``step`` with a hand-written backward pass, or None. Change both together."""
        return None

    def unroll(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """All steps: ``(B, T, I)``, state -> outputs ``(B, T, H)``, last state.

        Training uses ``kernel`` if there is one, else the loop over ``step``; both are the same function.
        """
        kernel = self.kernel() if torch.is_grad_enabled() else None
        if kernel is None:
            return self.unroll_plainly(inputs, state)
        (s,) = state
        outputs = unroll_cell(kernel, s, self.project(inputs.transpose(0, 1)))
        return outputs, (outputs[:, -1],)

    def unroll_plainly(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """The definition of ``unroll``: the loop over ``step``, with the input products hoisted."""
        outputs = []
        for projected in self.project(inputs).unbind(1):
            state = self.step(projected, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state


class TanhCell(Cell):
    """The lecture's naive transition: h_t = tanh(W x_{t-1} + U h_{t-1} + b)."""

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, hidden_size)
        self.recurrent = nn.Linear(hidden_size, hidden_size, bias=False)

    def project(self, inputs: Tensor) -> Tensor:
        """W x + b, ``(..., I) -> (..., H)``."""
        return self.input(inputs)

    def start(self, like: Tensor, batch: int) -> CellState:
        """h_0 = 0."""
        return (like.new_zeros(batch, self.hidden_size),)

    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One step: ``(B, H)``, ``((B, H),)`` -> ``((B, H),)``."""
        (h,) = state
        # h_t = tanh(W x_{t-1} + U h_{t-1} + b)
        return (tanh(projected + self.recurrent(h)).to(h.dtype),)

    @override
    def kernel(self) -> CellKernel:
        return TanhCellKernel(self.recurrent.weight)


class GRUResetBefore(Cell):
    """GRU whose reset gate acts **before** the recurrent product (Cho et al. 2014; the lecture; RNNsearch).

    u = sigma(W_u x + U_u h + b_u), r = sigma(W_r x + U_r h + b_r), candidate = tanh(W x + U (r * h) + b),
    h = (1 - u) h + u candidate.
    """

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, 3 * hidden_size)  # W_r, W_u, W
        self.recurrent_gates = nn.Linear(hidden_size, 2 * hidden_size, bias=False)  # U_r, U_u
        self.recurrent = nn.Linear(hidden_size, hidden_size, bias=False)  # U

    def project(self, inputs: Tensor) -> Tensor:
        """[W_r x + b_r, W_u x + b_u, W x + b], ``(..., I) -> (..., 3H)``."""
        return self.input(inputs)

    def start(self, like: Tensor, batch: int) -> CellState:
        """h_0 = 0."""
        return (like.new_zeros(batch, self.hidden_size),)

    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One step: ``(B, 3H)``, ``((B, H),)`` -> ``((B, H),)``."""
        (h,) = state
        x_gates, x = projected.split([2 * self.hidden_size, self.hidden_size], dim=-1)
        # r = sigma(W_r x + U_r h + b_r), u = sigma(W_u x + U_u h + b_u)
        r, u = torch.sigmoid(x_gates + self.recurrent_gates(h)).chunk(2, dim=-1)
        # candidate = tanh(W x + U (r * h) + b)
        candidate = tanh(x + self.recurrent(r * h))
        # h = (1 - u) h + u candidate
        return (torch.lerp(h, candidate.to(h.dtype), u.to(h.dtype)),)

    @override
    def kernel(self) -> CellKernel:
        return GRUResetBeforeKernel(self.recurrent_gates.weight, self.recurrent.weight)


class GRUResetAfter(Cell):
    """GRU whose reset gate acts **after** the recurrent product (the cGRU note, eqs 2-5 and 9-12; cuDNN).

    r = sigma(W_r x + U_r s), z = sigma(W_z x + U_z s), candidate = tanh(W x + r * (U s)),
    s = (1 - z) candidate + z s. The note omits the biases; ours are on the input side.
    """

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, 3 * hidden_size)  # W_r, W_z, W
        self.recurrent = nn.Linear(hidden_size, 3 * hidden_size, bias=False)  # U_r, U_z, U

    def project(self, inputs: Tensor) -> Tensor:
        """[W_r x, W_z x, W x] with their biases, ``(..., I) -> (..., 3H)``."""
        return self.input(inputs)

    def start(self, like: Tensor, batch: int) -> CellState:
        """s_0 = 0."""
        return (like.new_zeros(batch, self.hidden_size),)

    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One step: ``(B, 3H)``, ``((B, H),)`` -> ``((B, H),)``."""
        (s,) = state
        sizes = [2 * self.hidden_size, self.hidden_size]
        x_gates, x = projected.split(sizes, dim=-1)
        s_gates, us = self.recurrent(s).split(sizes, dim=-1)
        # r = sigma(W_r x + U_r s), z = sigma(W_z x + U_z s)
        r, z = torch.sigmoid(x_gates + s_gates).chunk(2, dim=-1)
        # candidate = tanh(W x + r * (U s))
        candidate = tanh(torch.addcmul(x, r, us))
        # s = (1 - z) candidate + z s
        return (torch.lerp(candidate.to(s.dtype), s, z.to(s.dtype)),)

    @override
    def kernel(self) -> CellKernel:
        return GRUResetAfterKernel(*self.recurrent.parameters())

    @override
    def unroll(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """On a GPU this is cuDNN."""
        return self.unroll_by_torch(inputs, state) if inputs.is_cuda else super().unroll(inputs, state)

    def unroll_by_torch(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """``unroll`` by the function behind nn.GRU, which requires a second bias."""
        (s,) = state
        second = torch.zeros_like(self.input.bias) if self.recurrent.bias is None else self.recurrent.bias
        weights = [self.input.weight, self.recurrent.weight, self.input.bias, second]
        outputs, last = torch.gru(inputs, s.unsqueeze(0), weights, True, 1, 0.0, self.training, False, True)
        return outputs.to(s.dtype), (last.squeeze(0).to(s.dtype),)


class GRUResetAfterTwoBiases(GRUResetAfter):
    """`GRUResetAfter` with a bias of the recurrent product too, so that the reset gate acts on it (cuDNN's GRU).

    candidate = tanh(W x + b + r * (U s + b')). dl4mt's REC2 has b' and no b.
    """

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size=input_size, hidden_size=hidden_size)
        self.recurrent = nn.Linear(hidden_size, 3 * hidden_size)  # U_r, U_z, U and b'


class LSTMCell(Cell):
    """Long short-term memory without peepholes, by the lecture's equations.

    i, f, o = sigma(W x + U h + b) each, candidate = tanh(W x + U h + b), c = f * c + i * candidate, h = o * tanh(c).
    """

    def __init__(self, *, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input = nn.Linear(input_size, 4 * hidden_size)  # W_i, W_f, W_o, W
        self.recurrent = nn.Linear(hidden_size, 4 * hidden_size, bias=False)  # U_i, U_f, U_o, U

    def project(self, inputs: Tensor) -> Tensor:
        """[W_i x, W_f x, W_o x, W x] with their biases, ``(..., I) -> (..., 4H)``."""
        return self.input(inputs)

    def start(self, like: Tensor, batch: int) -> CellState:
        """h_0 = 0, c_0 = 0."""
        zeros = like.new_zeros(batch, self.hidden_size)
        return (zeros, zeros)

    def step(self, projected: Tensor, state: CellState) -> CellState:
        """One step: ``(B, 4H)``, (h ``(B, H)``, c ``(B, H)``) -> (h, c)."""
        h, c = state
        gates, candidate = (projected + self.recurrent(h)).split([3 * self.hidden_size, self.hidden_size], dim=-1)
        # i, f, o = sigma(W x + U h + b)
        i, f, o = torch.sigmoid(gates).chunk(3, dim=-1)
        # c = f * c + i * candidate
        c = f * c + i * torch.tanh(candidate)
        # h = o * tanh(c)
        return (o * torch.tanh(c), c)

    @override
    def unroll(self, inputs: Tensor, state: CellState) -> tuple[Tensor, CellState]:
        """Uses torch's LSTM, fused on CPU and GPU, which has the candidate before the output gate."""
        ours = (self.input.weight, self.recurrent.weight, self.input.bias)
        weights = [torch.cat([i, f, c, o]) for i, f, o, c in (weight.chunk(4) for weight in ours)]
        weights.append(torch.zeros_like(self.input.bias))
        h, c = state
        outputs, *last = lstm(inputs, (h.unsqueeze(0), c.unsqueeze(0)), weights, training=self.training)
        h, c = (final.squeeze(0).to(initial.dtype) for final, initial in zip(last, state, strict=True))
        return outputs.to(h.dtype), (h, c)


CELLS: dict[str, Callable[..., Cell]] = {
    "tanh": TanhCell,
    "gru": GRUResetBefore,
    "gru_reset_after": GRUResetAfter,
    "lstm": LSTMCell,
}


def make_cell(name: str, *, input_size: int, hidden_size: int) -> Cell:
    """The cell called ``name`` (a key of ``CELLS``); UserError with the nearest name if there is none."""
    if name not in CELLS:
        raise UserError(f"there is no recurrent cell '{name}' (cell=... of the model){nearest(str(name), CELLS)}")
    return CELLS[name](input_size=input_size, hidden_size=hidden_size)
