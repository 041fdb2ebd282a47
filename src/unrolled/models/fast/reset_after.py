"""The step of ``cells.GRUResetAfter``, forward and backward."""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import CellKernel
from unrolled.models.fast.products import Product, weight_gradient
from unrolled.models.fast.squash import sigmoid_backward, tanh_, tanh_backward


class ResetAfterKernel(CellKernel):
    """r, z = sigma(x_rz + U_rz s), n = tanh(x_n + r * m) with m = U s, s' = (1 - z) n + z s.

    Inputs: U_r, U_z, U ``(3D, D)`` and, as nn.GRU has it, a bias ``(3D,)`` of these products.
    Kept: r, z, m ``(T, B, 3D)`` and n ``(T, B, D)``.
    """

    gates = 3

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        self.size = state.shape[1]
        recurrent, *bias = self.inputs
        self.recurrent, self.bias = recurrent.to(dtype), bias[0] if bias else None

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        batch = len(state)
        self.kept = (state.new_empty(steps, batch, 3 * self.size), state.new_empty(steps, batch, self.size))
        self.product = Product(self.recurrent, rows=batch, bias=self.bias)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.product_back = Product(self.recurrent.t(), rows=len(state))
        self.dproducts = torch.empty_like(self.kept[0])

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """See the contract."""
        sizes = [2 * self.size, self.size]
        x_rz, x_n = x.split(sizes, dim=1)
        rz, m = self.kept[0][t].copy_(self.product(s)).split(sizes, dim=1)
        # r, z = sigma(x_rz + U_rz s)
        r, z = rz.add_(x_rz).sigmoid_().chunk(2, dim=1)
        # n = tanh(x_n + r * m)
        n = tanh_(torch.addcmul(x_n, r, m, out=self.kept[1][t]))
        # s' = (1 - z) n + z s
        torch.lerp(n, s, z, out=out)

    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """See the contract."""
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
