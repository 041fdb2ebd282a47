"""The step of ``attention.BahdanauAttention``, forward and backward. A is the attention size."""

import torch
from torch import Tensor

from unrolled.models.fast.attend import annotations_gradient, attend, attend_backward
from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.products import multiply, weight_gradient
from unrolled.models.fast.squash import tanh_


class AdditiveKernel(AttentionKernel):
    """e_j = v^T y_j, y_j = tanh(W s + k_j), alpha = softmax(e), c = sum_j alpha_j h_j.

    Inputs: W ``(A, Q)``, v ``(1, A)``, keys k ``(B, S, A)``, annotations h ``(B, S, C)``, valid ``(B, S)``.
    Kept: the queries' products W s ``(T, B, A)``. y, ``(B, S, A)`` a step, is made again.
    """

    def __init__(self, query: Tensor, energy: Tensor, keys: Tensor, annotations: Tensor, valid: Tensor) -> None:
        super().__init__(query, energy, keys, annotations, valid)

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        query, energy, keys, annotations, self.valid = self.inputs
        self.query, self.annotations = query.to(dtype), annotations.to(dtype)
        self.energy, self.keys = energy.to(state.dtype).squeeze(0), keys.to(state.dtype)
        self.y = torch.empty_like(self.keys)
        self.one = state.new_ones(())

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.kept = (state.new_empty(steps, len(state), self.keys.shape[2]),)

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.dquery_products = torch.empty_like(self.kept[0])
        self.dkeys = torch.zeros_like(self.keys)
        self.denergy = torch.zeros_like(self.energy)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])
        self.dquery = state.new_empty(len(state), self.query.shape[1])

    def _hidden(self, t: int) -> Tensor:
        # y_j = tanh(W s + k_j)
        return tanh_(torch.add(self.keys, self.kept[0][t].unsqueeze(1), out=self.y))

    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        """See the contract."""
        multiply(query, self.query.t(), out=self.kept[0][t])
        # e_j = v^T y_j
        energies = torch.mv(self._hidden(t).flatten(0, 1), self.energy).view(weights.shape)
        attend(energies, self.annotations, self.valid, context, weights)

    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """See the contract."""
        self.dcontexts[t] = dcontext
        de = attend_backward(dcontext, dweights, weights, self.annotations)
        y = self._hidden(t)
        # e_j = v^T y_j:            dv = sum_j de_j y_j,   dy_j = de_j v
        self.denergy.addmv_(y.flatten(0, 1).t(), de.flatten())
        # y_j = tanh(W s + k_j):    dk_j = (1 - y_j^2) de_j v,   d(W s) = sum_j dk_j;  v comes to dk at the end
        slope = torch.addcmul(self.one, y, y, value=-1, out=y)
        self.dkeys.addcmul_(slope, de.unsqueeze(2))
        dproduct = torch.mul(torch.bmm(de.unsqueeze(1), slope).squeeze(1), self.energy, out=self.dquery_products[t])
        # ds = W^T d(W s)
        return multiply(dproduct, self.query, out=self.dquery)

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """dW = sum_t d(W s_t) s_t^T, and the sums over steps: dv, dk, dh."""
        dtype = self.query.dtype
        return (
            weight_gradient(self.dquery_products, queries, dtype),
            self.denergy.unsqueeze(0),
            self.dkeys.mul_(self.energy),
            annotations_gradient(self.dcontexts, weights, dtype),
            None,
        )
