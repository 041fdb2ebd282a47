"""The step of ``cells.GRUResetBefore``, forward and backward."""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import CellKernel
from unrolled.models.fast.products import Product, weight_gradient
from unrolled.models.fast.squash import sigmoid_backward, tanh_, tanh_backward


class ResetBeforeKernel(CellKernel):
    """r, u = sigma(x_ru + U_ru h), n = tanh(x_n + U g) with g = r * h, h' = (1 - u) h + u n.

    Inputs: U_ru ``(2D, D)``, U ``(D, D)``. Kept: r, u ``(T, B, 2D)`` and n ``(T, B, D)``.
    """

    gates = 3

    def __init__(self, recurrent_gates: Tensor, recurrent: Tensor) -> None:
        super().__init__(recurrent_gates, recurrent)

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        self.size = state.shape[1]
        gates, recurrent = self.inputs
        self.recurrent_gates = gates.to(dtype)
        self.recurrent = recurrent.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        batch = len(state)
        self.kept = (state.new_empty(steps, batch, 2 * self.size), state.new_empty(steps, batch, self.size))
        self.gates_product = Product(self.recurrent_gates, rows=batch)
        self.product = Product(self.recurrent, rows=batch)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.gates_product_back = Product(self.recurrent_gates.t(), rows=len(state))
        self.product_back = Product(self.recurrent.t(), rows=len(state))

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """See the contract; h is ``s``."""
        x_ru, x_n = x.split([2 * self.size, self.size], dim=1)
        # r, u = sigma(x_ru + U_ru h)
        ru = torch.add(x_ru, self.gates_product(s), out=self.kept[0][t])
        r, u = ru.sigmoid_().chunk(2, dim=1)
        # n = tanh(x_n + U g), g = r * h
        n = tanh_(torch.add(x_n, self.product(r * s), out=self.kept[1][t]))
        # h' = (1 - u) h + u n
        torch.lerp(s, n, u, out=out)

    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """See the contract; h is ``s``."""
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
