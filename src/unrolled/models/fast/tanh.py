"""The step of ``cells.TanhCell``, forward and backward."""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import CellKernel
from unrolled.models.fast.products import Product, weight_gradient
from unrolled.models.fast.squash import tanh_, tanh_backward


class TanhKernel(CellKernel):
    """h' = tanh(x + U h). Input: U ``(D, D)``. Kept: h' ``(T, B, D)``, as ``backward`` is given h only."""

    gates = 1

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        (recurrent,) = self.inputs
        self.recurrent = recurrent.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.kept = (state.new_empty(steps, *state.shape),)
        self.product = Product(self.recurrent, rows=len(state))

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.product_back = Product(self.recurrent.t(), rows=len(state))

    def forward(self, t: int, x: Tensor, s: Tensor, out: Tensor) -> None:
        """See the contract; h is ``s``."""
        # h' = tanh(x + U h)
        out.copy_(tanh_(torch.add(x, self.product(s), out=self.kept[0][t])))

    def backward(self, t: int, ds: Tensor, s: Tensor, dx: Tensor) -> Tensor:
        """See the contract; h is ``s``."""
        # h' = tanh(x + U h):       dx = (1 - h'^2) dh',   dh = U^T dx
        tanh_backward(ds, self.kept[0][t], out=dx)
        return self.product_back(dx)

    def gradients(self, states: Tensor, dx: Tensor) -> tuple[Tensor, ...]:
        """dU = sum_t dx_t h_{t-1}^T."""
        return (weight_gradient(dx, states, self.recurrent.dtype),)
