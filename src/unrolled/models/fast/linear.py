"""y = W x + b inside a recurrence, forward and backward."""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import Kernel
from unrolled.models.fast.products import Product, weight_gradient


class LinearKernel(Kernel):
    """A linear map ``(B, I) -> (B, O)`` in every step. Inputs: W ``(O, I)`` and, if there is one, b ``(O,)``."""

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        weight, *bias = self.inputs
        self.bias = bias[0] if bias else None
        self.weight = weight.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to keep: whoever made x has it."""
        self.product = Product(self.weight, rows=len(state), bias=self.bias)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.product_back = Product(self.weight.t(), rows=len(state))

    def forward(self, x: Tensor) -> Tensor:
        """``(B, I)`` -> ``(B, O)``."""
        # y = W x + b
        return self.product(x)

    def backward(self, dy: Tensor) -> Tensor:
        """``(B, O)`` -> ``(B, I)``."""
        # dx = W^T dy
        return self.product_back(dy)

    def gradients(self, dy: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        """``(T, B, O)``, ``(T, B, I)`` -> dW = sum_t dy_t x_t^T, db = sum_t dy_t."""
        dweight = weight_gradient(dy, x, self.weight.dtype)
        return (dweight,) if self.bias is None else (dweight, dy.sum(dim=(0, 1)))
