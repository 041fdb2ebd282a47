"""The step of ``attention.BahdanauAttention``, forward and backward. A is the attention size."""

import torch
from torch import Tensor

from unrolled.models.fast.attend import annotations_gradient, attend, attend_backward
from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.products import Product, weight_gradient


class AdditiveKernel(AttentionKernel):
    """e_j = v^T y_j, y_j = tanh(W s + k_j), alpha = softmax(e), c = sum_j alpha_j h_j.

    tanh x = 2 sigma(2 x) - 1, and torch's sigma takes a sixth of its tanh's time on a CPU. So with u_j = sigma(2 W s +
    2 k_j) and y_j = 2 u_j - 1, e_j = 2 v^T u_j but for a constant over j, which the soft-max does not see.

    Inputs: W ``(A, Q)``, v ``(1, A)``, keys k ``(B, S, A)``, annotations h ``(B, S, C)``, valid ``(B, S)``.
    Kept: 2 W s ``(T, B, A)``. u, ``(B, S, A)`` a step, is made again.
    """

    def __init__(self, query: Tensor, energy: Tensor, keys: Tensor, annotations: Tensor, valid: Tensor) -> None:
        super().__init__(query, energy, keys, annotations, valid)

    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        """See the contract."""
        query, energy, keys, annotations, self.valid = self.inputs
        self.query, self.annotations = query.to(dtype), annotations.to(dtype)
        self.energy = energy.to(state.dtype).squeeze(0)
        self.twice_energy, self.twice_keys = 2 * self.energy, 2 * keys.to(state.dtype)
        self.u = torch.empty_like(self.twice_keys)

    def begin(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.kept = (state.new_empty(steps, len(state), len(self.energy)),)
        self.product = Product(self.query, rows=len(state))

    def begin_backward(self, steps: int, state: Tensor) -> None:
        """See the contract."""
        self.product_back = Product(self.query.t(), rows=len(state))
        self.dquery_products = torch.empty_like(self.kept[0])
        self.dkeys = torch.zeros_like(self.u)
        self.denergy = torch.zeros_like(self.energy)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])

    def _u(self, t: int) -> Tensor:
        # u_j = sigma(2 W s + 2 k_j)
        return torch.add(self.twice_keys, self.kept[0][t].unsqueeze(1), out=self.u).sigmoid_()

    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        """See the contract."""
        torch.mul(self.product(query), 2, out=self.kept[0][t])
        # e_j = 2 v^T u_j
        energies = torch.mv(self._u(t).flatten(0, 1), self.twice_energy).view(weights.shape)
        attend(energies, self.annotations, self.valid, context, weights)

    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """See the contract."""
        self.dcontexts[t] = dcontext
        de = attend_backward(dcontext, dweights, weights, self.annotations)
        u = self._u(t)
        # e_j = v^T (2 u_j - 1):    dv = 2 sum_j de_j u_j, as sum_j de_j = 0,   dy_j = de_j v
        self.denergy.addmv_(u.flatten(0, 1).t(), de.flatten(), alpha=2)
        # y_j = tanh(W s + k_j):    dk_j = (1 - y_j^2) de_j v = 4 (u_j - u_j^2) de_j v,   d(W s) = sum_j dk_j;
        #                           4 v comes to dk at the end
        slope = torch.addcmul(u, u, u, value=-1, out=u)
        self.dkeys.addcmul_(slope, de.unsqueeze(2))
        dproduct = torch.bmm(de.unsqueeze(1), slope).squeeze(1)
        torch.mul(dproduct, 4 * self.energy, out=self.dquery_products[t])
        # ds = W^T d(W s)
        return self.product_back(self.dquery_products[t])

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """dW = sum_t d(W s_t) s_t^T, and the sums over steps: dv, dk, dh."""
        dtype = self.query.dtype
        return (
            weight_gradient(self.dquery_products, queries, dtype),
            self.denergy.unsqueeze(0),
            self.dkeys.mul_(4 * self.energy),
            annotations_gradient(self.dcontexts, weights, dtype),
            None,
        )
