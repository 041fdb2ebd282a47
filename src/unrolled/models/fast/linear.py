"""y = W x + b inside a recurrence, forward and backward."""

import torch
from torch import Tensor

from unrolled.models.fast.kernel import Kernel
from unrolled.models.fast.products import multiply, weight_gradient


class LinearKernel(Kernel):
    """A linear map ``(B, I) -> (B, O)`` in every step. Inputs: W ``(O, I)`` and, if there is one, b ``(O,)``."""

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        weight, *self.bias = self.inputs
        self.weight = weight.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to keep: whoever made x has it."""
        self.out = state.new_empty(len(state), self.weight.shape[0])

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """The gradient of x, a step at a time."""
        self.dx = state.new_empty(len(state), self.weight.shape[1])

    def forward(self, x: Tensor) -> Tensor:
        """``(B, I)`` -> ``(B, O)``, valid until the next call."""
        # y = W x + b
        y = multiply(x, self.weight.t(), out=self.out)
        for bias in self.bias:
            y.add_(bias)
        return y

    def backward(self, dy: Tensor) -> Tensor:
        """``(B, O)`` -> ``(B, I)``, valid until the next call."""
        # dx = W^T dy
        return multiply(dy, self.weight, out=self.dx)

    def gradients(self, dy: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        """``(T, B, O)``, ``(T, B, I)`` -> dW = sum_t dy_t x_t^T, db = sum_t dy_t."""
        return (weight_gradient(dy, x, self.weight.dtype), *(dy.sum(dim=(0, 1)) for _ in self.bias))
