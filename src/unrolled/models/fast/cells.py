"""``models/cells.py`` with its backward passes: ``GRUResetAfterKernel`` is the step of ``GRUResetAfter``, and so on.

Letters: B batch, T steps, D state size, P size of the input products.
"""

from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from unrolled.models.fast.kernel import CellKernel, differentiated_once
from unrolled.models.fast.products import Product, product_dtype, weight_gradient
from unrolled.models.fast.squash import sigmoid_backward, tanh_, tanh_backward


class TanhCellKernel(CellKernel):
    """h' = tanh(x + U h). Input: U ``(D, D)``. Kept: h' ``(T, B, D)``, as ``backward`` only gets h."""

    gates = 1

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        (recurrent,) = self.inputs
        self.recurrent = recurrent.to(dtype)

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        self.kept = (state.new_empty(steps, *state.shape),)
        self.product = Product(self.recurrent, rows=len(state), times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.product_back = Product(self.recurrent.t(), rows=len(state), times=steps)

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """h is ``s``."""
        # h' = tanh(x + U h)
        out.copy_(tanh_(torch.add(x, self.product(s), out=self.kept[0][t])))

    @override
    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """h is ``s``."""
        # h' = tanh(x + U h):       dx = (1 - h'^2) dh',   dh = U^T dx
        tanh_backward(ds, self.kept[0][t], out=dx)
        return self.product_back(dx)

    def gradients(self, states: Tensor, dx: Tensor) -> tuple[Tensor, ...]:
        """dU = sum_t dx_t h_{t-1}^T."""
        return (weight_gradient(dx, states, self.recurrent.dtype),)


class GRUResetBeforeKernel(CellKernel):
    """r, u = sigma(x_ru + U_ru h), n = tanh(x_n + U g) with g = r * h, h' = (1 - u) h + u n.

    Inputs: U_ru ``(2D, D)``, U ``(D, D)``. Kept: r, u ``(T, B, 2D)`` and n ``(T, B, D)``.
    """

    gates = 3

    def __init__(self, recurrent_gates: Tensor, recurrent: Tensor) -> None:
        super().__init__(recurrent_gates, recurrent)

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        self.size = state.shape[1]
        gates, recurrent = self.inputs
        self.recurrent_gates = gates.to(dtype)
        self.recurrent = recurrent.to(dtype)

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        batch = len(state)
        self.kept = (state.new_empty(steps, batch, 2 * self.size), state.new_empty(steps, batch, self.size))
        self.gates_product = Product(self.recurrent_gates, rows=batch, times=steps)
        self.product = Product(self.recurrent, rows=batch, times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.gates_product_back = Product(self.recurrent_gates.t(), rows=len(state), times=steps)
        self.product_back = Product(self.recurrent.t(), rows=len(state), times=steps)

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """h is ``s``."""
        x_ru, x_n = x.split([2 * self.size, self.size], dim=1)
        # r, u = sigma(x_ru + U_ru h)
        ru = torch.add(x_ru, self.gates_product(s), out=self.kept[0][t])
        r, u = ru.sigmoid_().chunk(2, dim=1)
        # n = tanh(x_n + U g), g = r * h
        n = tanh_(torch.add(x_n, self.product(r * s), out=self.kept[1][t]))
        # h' = (1 - u) h + u n
        torch.lerp(s, n, u, out=out)

    @override
    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """h is ``s``."""
        r, u = self.kept[0][t].chunk(2, dim=1)
        n = self.kept[1][t]
        dx_r, dx_u, dx_n = dx.chunk(3, dim=1)
        # h' = (1 - u) h + u n:     dn = u dh',   du = (n - h) dh',   dh = (1 - u) dh' + ...
        # n = tanh(x_n + U g):      dx_n = (1 - n^2) dn,   dg = U^T dx_n
        torch.mul(ds, u, out=dx_n)
        tanh_backward(dx_n, n, out=dx_n)
        dg = self.product_back(dx_n)
        # u = sigma(x_u + ...):     dx_u = u (1 - u) du
        torch.sub(n, s, out=dx_u).mul_(ds)
        sigmoid_backward(dx_u, u, out=dx_u)
        # g = r * h, r = sigma(x_r + ...):  dx_r = r (1 - r) h dg,   dh = r dg + ...
        torch.mul(dg, s, out=dx_r)
        sigmoid_backward(dx_r, r, out=dx_r)
        # dh = (1 - u) dh' + r dg + U_ru^T [dx_r; dx_u]
        ds.addcmul_(u, ds, value=-1).addcmul_(r, dg)
        return self.gates_product_back.add_to(ds, dx[:, : 2 * self.size])

    def gradients(self, states: Tensor, dx: Tensor) -> tuple[Tensor, ...]:
        """dU_ru = sum_t [dx_r; dx_u] h_{t-1}^T,  dU = sum_t dx_n g_t^T."""
        dx_ru, dx_n = dx.split([2 * self.size, self.size], dim=2)
        g = self.kept[0][..., : self.size] * states
        dtype = self.recurrent.dtype
        return (weight_gradient(dx_ru, states, dtype), weight_gradient(dx_n, g, dtype))


class GRUResetAfterKernel(CellKernel):
    """r, z = sigma(x_rz + U_rz s), n = tanh(x_n + r * m) with m = U s, s' = (1 - z) n + z s.

    Inputs: U_r, U_z, U ``(3D, D)`` and, as in nn.GRU, a bias ``(3D,)`` of these products.
    Kept: r, z, m ``(T, B, 3D)`` and n ``(T, B, D)``.
    """

    gates = 3

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        self.size = state.shape[1]
        recurrent, *bias = self.inputs
        self.recurrent, self.bias = recurrent.to(dtype), bias[0] if bias else None

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        batch = len(state)
        self.kept = (state.new_empty(steps, batch, 3 * self.size), state.new_empty(steps, batch, self.size))
        self.product = Product(self.recurrent, rows=batch, times=steps, bias=self.bias)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.product_back = Product(self.recurrent.t(), rows=len(state), times=steps)
        self.dproducts = torch.empty_like(self.kept[0])

    @override
    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        sizes = [2 * self.size, self.size]
        x_rz, x_n = x.split(sizes, dim=1)
        rz, m = self.kept[0][t].copy_(self.product(s)).split(sizes, dim=1)
        # r, z = sigma(x_rz + U_rz s)
        r, z = rz.add_(x_rz).sigmoid_().chunk(2, dim=1)
        # n = tanh(x_n + r * m)
        n = tanh_(torch.addcmul(x_n, r, m, out=self.kept[1][t]))
        # s' = (1 - z) n + z s
        torch.lerp(n, s, z, out=out)

    @override
    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        r, z, m = self.kept[0][t].chunk(3, dim=1)
        n = self.kept[1][t]
        dx_r, dx_z, dx_n = dx.chunk(3, dim=1)
        # s' = (1 - z) n + z s:     dn = (1 - z) ds',   dz = (s - n) ds',   ds = z ds' + ...
        # n = tanh(x_n + r * m):    dx_n = (1 - n^2) dn
        torch.addcmul(ds, ds, z, value=-1, out=dx_n)
        tanh_backward(dx_n, n, out=dx_n)
        # z = sigma(x_z + ...):     dx_z = z (1 - z) dz
        torch.sub(s, n, out=dx_z).mul_(ds)
        sigmoid_backward(dx_z, z, out=dx_z)
        # r = sigma(x_r + ...):     dx_r = r (1 - r) m dx_n
        torch.mul(dx_n, m, out=dx_r)
        sigmoid_backward(dx_r, r, out=dx_r)
        # the products U_r s, U_z s, m = U s:  dx_r, dx_z, dm = r dx_n
        dproducts = self.dproducts[t]
        dproducts.copy_(dx)
        dproducts[:, 2 * self.size :].mul_(r)
        # ds = z ds' + U^T [dx_r; dx_z; dm]
        return self.product_back.add_to(ds.mul_(z), dproducts)

    def gradients(self, states: Tensor, dx: Tensor) -> tuple[Tensor, ...]:
        """dU = sum_t [dx_r; dx_z; dm] s_{t-1}^T, and the bias's sum_t [dx_r; dx_z; dm]."""
        dweight = weight_gradient(self.dproducts, states, self.recurrent.dtype)
        return (dweight,) if self.bias is None else (dweight, self.dproducts.sum(dim=(0, 1)))


def unroll_cell(kernel: CellKernel, s: Tensor, x: Tensor) -> Tensor:
    """All steps from s_0 ``(B, D)`` and the input products ``(T, B, P)``: the states s_1 ... s_T ``(B, T, D)``.

    Gradients flow to x, s_0 and the inputs of the kernel, once: a second derivative raises a RuntimeError.
    """
    return torch.as_tensor(
        _UnrolledCell.apply(kernel, product_dtype(s), x.to(s.dtype), s, *kernel.inputs)  # type: ignore[no-untyped-call]
    )[:, 1:]


class _UnrolledCell(torch.autograd.Function):
    """x ``(T, B, P)``, s_0 ``(B, D)`` and the kernel's inputs -> s_0 ... s_T, batch first."""

    @staticmethod
    def forward(ctx: Any, kernel: CellKernel, dtype: torch.dtype, x: Tensor, s: Tensor, *inputs: Tensor) -> Tensor:
        """All steps, first to last."""
        steps = len(x)
        with torch.autocast(s.device.type, enabled=False):
            kernel.load(s, dtype)
            kernel.begin(steps, s)
            states = s.new_empty(steps + 1, *s.shape)
            states[0] = s
            for t in range(steps):
                kernel.forward(t, x[t], states[t], states[t + 1])
        # between forward and backward autograd holds all tensors, so that it can free them after use
        ctx.dtype, ctx.size, ctx.kind, ctx.inputs = dtype, x.shape[2], type(kernel), len(inputs)
        ctx.save_for_backward(states, *inputs, *kernel.kept)
        return states.transpose(0, 1)

    @staticmethod
    def backward(ctx: Any, dstates: Tensor) -> tuple[Tensor | None, ...]:
        """All steps, last to first."""
        differentiated_once("a cell's unroll", "unroll_plainly")
        states, *tensors = ctx.saved_tensors
        kernel = ctx.kind(*tensors[: ctx.inputs])
        kernel.kept = tuple(tensors[ctx.inputs :])
        dstates, steps = dstates.transpose(0, 1), len(states) - 1
        with torch.autocast(states.device.type, enabled=False):
            kernel.load(states[0], ctx.dtype)
            kernel.begin_backward(steps, states[0])
            dx = states.new_empty(steps, states.shape[1], ctx.size)
            ds = dstates[steps].clone()
            for t in reversed(range(steps)):
                ds = kernel.backward(t, ds, states[t], dx[t]).add_(dstates[t])
            gradients = kernel.gradients(states[:steps], dx)
        return (None, None, dx, ds, *gradients)
