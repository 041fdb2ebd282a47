"""The step of ``PooledGRUAttention`` with its backward pass. The letters are those of `models.fast.attention`."""

import torch
from torch import Tensor
from typing_extensions import override

from unrolled.models.fast.attention import GRUAttentionKernel
from unrolled.models.fast.products import weight_gradient
from unrolled.models.fast.squash import sigmoid_backward


class PooledGRUAttentionKernel(GRUAttentionKernel):
    """As ``GRUAttentionKernel``, but gates and candidate read m = sum_j alpha_j v_j of the step before, the pool:
    r, z = sigma(p_rz), n = tanh(p_n + U g), g = r * m, v' = (1 - z) v + z n, with p = W s + (U_rz m, 0) + k_j.

    Inputs: those of ``GRUAttentionKernel``, and m_0 ``(B, A)``.
    Kept: as there, but W s + (U_rz m, 0) instead of W s; last m_0 ... m_T ``(T + 1, B, A)``.
    """

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        super().begin(steps, state)
        pools = state.new_empty(steps + 1, *self.inputs[-1].shape)
        pools[0] = self.inputs[-1]
        self.kept = (*self.kept, pools)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        super().begin_backward(steps, state)
        self.dpool = torch.zeros_like(self.kept[-1][0])

    @override
    def _rows_of_gates(self) -> int:
        return len(self.valid)  # of the pools

    @override
    def _unpack(self) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        products, v, (*gates, _) = super()._unpack()
        return products, v, tuple(gates)

    @override
    def _read(self, t: int) -> Tensor:
        """m ``(B, 1, A)``, the same for all positions."""
        return self.kept[-1][t].unsqueeze(1)

    @override
    def _add_memory(self, t: int, rz: Tensor) -> None:
        """Nothing: ``_of_query`` has added U_rz m, once for all positions."""

    @override
    def _of_query(self, t: int, query: Tensor) -> None:
        """W s + (U_rz m, 0) of step t."""
        super()._of_query(t, query)
        products, _, _ = self._unpack()
        self.gates_product.add_to(products[t][:, : 2 * self.size], self.kept[-1][t])

    @override
    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        super().forward(t, query, context, weights)
        _, v, _ = self._unpack()
        # m' = sum_j alpha_j v'_j
        dtype = self.query.dtype
        self.kept[-1][t + 1] = torch.bmm(weights.to(dtype).unsqueeze(1), v[t + 1].to(dtype)).squeeze(1)

    @override
    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """``dv`` and ``dpool`` arrive from step t + 1 as dv', without this step's part, and dm'; they leave as dv and
        dm."""
        _, v, _ = self._unpack()
        m, rzn = self._read(t), self._recall(t)
        r, z, n = rzn.chunk(3, dim=2)
        dp_rz, _ = self.dp.split([2 * self.size, self.size], dim=2)
        dp_r, _, _ = self.dp.chunk(3, dim=2)
        # m' = sum_j alpha_j v'_j:  dalpha_j = dm'^T v'_j + the gradient from outside,   dv'_j += alpha_j dm'
        dtype = self.query.dtype
        dalpha = torch.bmm(v[t + 1].to(dtype), self.dpool.to(dtype).unsqueeze(2)).squeeze(2).to(weights.dtype)
        self.dv.addcmul_(weights.to(self.dv.dtype).unsqueeze(2), self.dpool.unsqueeze(1))
        self._energies_backward(t, dcontext, dalpha if dweights is None else dalpha.add_(dweights), weights)
        self._memory_backward(v[t], z, n)
        dg = self._candidate_backward(n)
        # g = r * m:                dr_j = m dg_j,   dm = sum_j r_j dg_j + ...
        torch.mul(m, dg, out=dp_r)
        self.dpool = torch.mul(r, dg, out=self.g).sum(dim=1)
        # r, z = sigma(p_rz):       dp_r = r (1 - r) dr,   dp_z = z (1 - z) dz
        sigmoid_backward(dp_rz, rzn[..., : 2 * self.size], out=dp_rz)
        # p = W s + (U_rz m, 0) + k_j:  dk_j += dp,   d(W s) = sum_j dp,   dm += U_rz^T sum_j dp_rz,   ds = W^T d(W s)
        self.dkeys.add_(self.dp)
        dproducts = torch.sum(self.dp, dim=1, out=self.dproducts[t])
        self.gates_product_back.add_to(self.dpool, dproducts[:, : 2 * self.size])
        return self.query_product_back(dproducts)

    @override
    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """Those of ``GRUAttentionKernel``, where dU_rz = sum_t (sum_j dp_rz) m^T; last dm_0."""
        dwhole, _, *others = super().gradients(queries, weights)
        dgates = weight_gradient(self.dproducts[..., : 2 * self.size], self.kept[-1][:-1], self.query.dtype)
        return (dwhole, dgates, *others, self.dpool)
