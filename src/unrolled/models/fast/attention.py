"""``models/attention.py`` with its backward passes: ``GRUAttentionKernel`` is the step of ``GRUAttention``, and so on.

Letters: T target steps, B sentences, S source length, Q query size, C annotation size, A attention size.
"""

import torch
from torch import Tensor
from typing_extensions import override

from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.products import Product, add_outer, weight_gradient
from unrolled.models.fast.squash import sigmoid_backward, tanh_, tanh_backward

# The gates of the first steps are kept for the backward pass, up to this many bytes; the others are recomputed.
KEPT_BYTES = 2**29


def attend(energies: Tensor, annotations: Tensor, valid: Tensor, context: Tensor, weights: Tensor) -> None:
    """``(B, S)``, ``(B, S, C)``, bool ``(B, S)`` -> into ``context (B, C)`` and ``weights (B, S)``."""
    # alpha = softmax(e) over the valid positions
    weights.copy_(torch.softmax(energies.to(weights.dtype).masked_fill(~valid, float("-inf")), dim=1))
    # c = sum_j alpha_j h_j
    context.copy_(torch.bmm(weights.to(annotations.dtype).unsqueeze(1), annotations).squeeze(1))


def attend_backward(dcontext: Tensor, dweights: Tensor | None, weights: Tensor, annotations: Tensor) -> Tensor:
    """Gradients of the context ``(B, C)`` and, from outside the step, of the weights ``(B, S)`` -> of the energies."""
    # dalpha_j = dc^T h_j + the gradient from outside
    dalpha = torch.bmm(dcontext.to(annotations.dtype).unsqueeze(1), annotations.transpose(1, 2)).squeeze(1)
    dalpha = dalpha.to(weights.dtype) if dweights is None else dalpha + dweights
    # de_j = alpha_j (dalpha_j - sum_k alpha_k dalpha_k); padding has alpha = 0
    weighted = weights * dalpha
    return torch.addcmul(weighted, weights, weighted.sum(dim=1, keepdim=True), value=-1)


def annotations_gradient(dcontexts: Tensor, weights: Tensor, dtype: torch.dtype) -> Tensor:
    """The annotations' gradient through the contexts of all steps: dh_j = sum_t alpha_tj dc_t.

    ``(T, B, C)``, ``(T, B, S)`` -> ``(B, S, C)``, the product in ``dtype``.
    """
    return torch.bmm(weights.to(dtype).permute(1, 2, 0), dcontexts.to(dtype).transpose(0, 1))


class ProductAttentionKernel(AttentionKernel):
    """e_j = s^T k_j, alpha = softmax(e), c = sum_j alpha_j h_j; the keys k may be the annotations themselves.

    Inputs: keys k ``(B, S, Q)``, annotations h ``(B, S, C)``, valid ``(B, S)``. Nothing is kept.
    """

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        keys, annotations, self.valid = self.inputs
        self.dtype, self.keys, self.annotations = state.dtype, keys.to(dtype), annotations.to(dtype)

    def begin(self, steps: int, state: Tensor) -> None:
        """Nothing to allocate."""

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.denergies = self.keys.new_empty(steps, *self.valid.shape)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])

    @override
    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        # e_j = s^T k_j
        energies = torch.bmm(self.keys, query.to(self.keys.dtype).unsqueeze(2)).squeeze(2)
        attend(energies, self.annotations, self.valid, context, weights)

    @override
    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        self.dcontexts[t] = dcontext
        self.denergies[t] = attend_backward(dcontext, dweights, weights, self.annotations)
        # e_j = s^T k_j:            ds = sum_j de_j k_j
        return torch.bmm(self.denergies[t].unsqueeze(1), self.keys).squeeze(1).to(self.dtype)

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """dk_j = sum_t de_tj s_t; dh."""
        dtype = self.keys.dtype
        dkeys = torch.bmm(self.denergies.permute(1, 2, 0), queries.to(dtype).transpose(0, 1))
        return dkeys, annotations_gradient(self.dcontexts, weights, dtype), None


class BahdanauAttentionKernel(AttentionKernel):
    """e_j = v^T y_j, y_j = tanh(W s + k_j), alpha = softmax(e), c = sum_j alpha_j h_j.

    tanh x = 2 sigma(2 x) - 1, and torch's sigma takes a sixth of its tanh's time on a CPU. So with u_j = sigma(2 W s +
    2 k_j) and y_j = 2 u_j - 1, e_j = 2 v^T u_j up to a constant over j, which cancels in the soft-max.

    Inputs: W ``(A, Q)``, v ``(1, A)``, keys k ``(B, S, A)``, annotations h ``(B, S, C)``, valid ``(B, S)``.
    Kept: 2 W s ``(T, B, A)``. u, ``(B, S, A)`` per step, is recomputed.
    """

    def __init__(self, query: Tensor, energy: Tensor, keys: Tensor, annotations: Tensor, valid: Tensor) -> None:
        super().__init__(query, energy, keys, annotations, valid)

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        query, energy, keys, annotations, self.valid = self.inputs
        self.query, self.annotations = query.to(dtype), annotations.to(dtype)
        self.energy = energy.to(state.dtype).squeeze(0)
        self.twice_energy, self.twice_keys = 2 * self.energy, 2 * keys.to(state.dtype)
        self.u = torch.empty_like(self.twice_keys)

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        self.kept = (state.new_empty(steps, len(state), len(self.energy)),)
        self.product = Product(self.query, rows=len(state), times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.product_back = Product(self.query.t(), rows=len(state), times=steps)
        self.dquery_products = torch.empty_like(self.kept[0])
        self.dkeys = torch.zeros_like(self.u)
        self.denergy = torch.zeros_like(self.energy)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])

    def _u(self, t: int) -> Tensor:
        # u_j = sigma(2 W s + 2 k_j)
        return torch.add(self.twice_keys, self.kept[0][t].unsqueeze(1), out=self.u).sigmoid_()

    @override
    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        torch.mul(self.product(query), 2, out=self.kept[0][t])
        # e_j = 2 v^T u_j
        energies = torch.mv(self._u(t).flatten(0, 1), self.twice_energy).view(weights.shape)
        attend(energies, self.annotations, self.valid, context, weights)

    @override
    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        self.dcontexts[t] = dcontext
        de = attend_backward(dcontext, dweights, weights, self.annotations)
        u = self._u(t)
        # e_j = v^T (2 u_j - 1):    dv = 2 sum_j de_j u_j, as sum_j de_j = 0,   dy_j = de_j v
        self.denergy.addmv_(u.flatten(0, 1).t(), de.flatten(), alpha=2)
        # y_j = tanh(W s + k_j):    dk_j = (1 - y_j^2) de_j v = 4 (u_j - u_j^2) de_j v,   d(W s) = sum_j dk_j;
        #                           dk is multiplied by 4 v at the end
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


class GRUAttentionKernel(AttentionKernel):
    """e_j = v_a^T y_j, y_j = tanh(v'_j), alpha = softmax(e), c = sum_j alpha_j h_j, where for every source position
    r, z = sigma(p_rz + U_rz v), n = tanh(p_n + U g), g = r * v, v' = (1 - z) v + z n, with p = W s + k_j.

    Inputs: W ``(3A, Q)``, U_rz ``(2A, A)``, U ``(A, A)``, v_a ``(1, A)``, keys k ``(B, S, 3A)``, annotations h
    ``(B, S, C)``, valid ``(B, S)``, v_0 ``(B, S, A)``.
    Kept: W s ``(T, B, 3A)``, v_0 ... v_T ``(B, S, A)`` each, and r, z, n ``(B, S, 3A)`` of each of the first steps. One
    tensor per step: one large block would be returned to the system and requested again at every update.
    """

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        query, gates, recurrent, energy, keys, annotations, self.valid, self.start, *_ = self.inputs
        self.query, self.recurrent_gates, self.recurrent = query.to(dtype), gates.to(dtype), recurrent.to(dtype)
        self.energy, self.keys = energy.to(state.dtype).squeeze(0), keys.to(state.dtype)
        self.annotations = annotations.to(dtype)
        self.size = recurrent.shape[0]
        self.scratch = torch.empty_like(self.keys)
        self.g = torch.empty_like(self.start)
        self.one = state.new_ones(())

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        kept_steps = min(steps, KEPT_BYTES // max(self.keys.nbytes, 1))
        vs = (self.start, *(torch.empty_like(self.start) for _ in range(steps)))
        gates = (torch.empty_like(self.keys) for _ in range(kept_steps))
        self.kept = (state.new_empty(steps, len(state), 3 * self.size), *vs, *gates)
        self.query_product = Product(self.query, rows=len(state), times=steps)
        self._pack_gates(times=steps)

    def _rows_of_gates(self) -> int:
        """For how many rows U_rz is multiplied at once."""
        return self.valid.numel()

    def _pack_gates(self, times: int) -> None:
        self.gates_product = Product(self.recurrent_gates, rows=self._rows_of_gates(), times=times)
        self.product = Product(self.recurrent, rows=self.valid.numel(), times=times)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.query_product_back = Product(self.query.t(), rows=len(state), times=steps)
        self.gates_product_back = Product(self.recurrent_gates.t(), rows=self._rows_of_gates(), times=steps)
        self.product_back = Product(self.recurrent.t(), rows=self.valid.numel(), times=steps)
        _, _, gates = self._unpack()
        self._pack_gates(times=steps - len(gates))  # the gates of the other steps are recomputed
        self.dproducts = torch.empty_like(self.kept[0])
        self.dkeys = torch.zeros_like(self.keys)
        self.drecurrent_gates = torch.zeros_like(self.inputs[1])
        self.drecurrent = torch.zeros_like(self.inputs[2])
        self.denergy = torch.zeros_like(self.energy)
        self.dv = torch.zeros_like(self.start)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])
        self.dp = torch.empty_like(self.keys)
        self.dg = torch.empty_like(self.g)

    def _unpack(self) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """W s, the v, the gates of the first steps."""
        products, *rest = self.kept
        return products, tuple(rest[: len(products) + 1]), tuple(rest[len(products) + 1 :])

    def _gates(self, t: int, out: Tensor) -> None:
        """r, z, n of step t into ``out (B, S, 3A)``."""
        products, _, _ = self._unpack()
        # p = W s + k_j
        p = torch.add(self.keys, products[t].unsqueeze(1), out=out)
        rz, n = p.split([2 * self.size, self.size], dim=2)
        # r, z = sigma(p_rz + U_rz v)
        self._add_memory(t, rz)
        r = rz.sigmoid_()[..., : self.size]
        # n = tanh(p_n + U g), g = r * v
        g = torch.mul(r, self._read(t), out=self.g)
        self.product.add_to(rows(n), rows(g))
        tanh_(n)

    def _read(self, t: int) -> Tensor:
        """The memory that gates and candidate of step t read: v ``(B, S, A)``."""
        _, v, _ = self._unpack()
        return v[t]

    def _add_memory(self, t: int, rz: Tensor) -> None:
        """``rz (B, S, 2A)`` += U_rz v."""
        self.gates_product.add_to(rows(rz), rows(self._read(t)))

    def _recall(self, t: int) -> Tensor:
        """r, z, n of step t ``(B, S, 3A)``, kept or computed again, and g into ``g``."""
        _, _, gates = self._unpack()
        if t < len(gates):
            torch.mul(gates[t][..., : self.size], self._read(t), out=self.g)
            return gates[t]
        self._gates(t, out=self.scratch)
        return self.scratch

    def _of_query(self, t: int, query: Tensor) -> None:
        """W s of step t."""
        products, _, _ = self._unpack()
        products[t] = self.query_product(query)

    @override
    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        _, v, gates = self._unpack()
        self._of_query(t, query)
        rzn = gates[t] if t < len(gates) else self.scratch
        self._gates(t, out=rzn)
        _, z, n = rzn.chunk(3, dim=2)
        # v' = (1 - z) v + z n
        torch.lerp(v[t], n, z, out=v[t + 1])
        # e_j = v_a^T y_j, y_j = tanh(v'_j)
        y = tanh_(self.g.copy_(v[t + 1]))
        energies = torch.mv(rows(y), self.energy).view(weights.shape)
        attend(energies, self.annotations, self.valid, context, weights)

    @override
    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        """``dv`` arrives from step t + 1 as dv', without the energies' gradient, and leaves as dv."""
        v, dv, rzn = self._read(t), self.dv, self._recall(t)
        r, z, n = rzn.chunk(3, dim=2)
        dp_rz, _ = self.dp.split([2 * self.size, self.size], dim=2)
        dp_r, _, _ = self.dp.chunk(3, dim=2)
        dtype = self.query.dtype
        self._energies_backward(t, dcontext, dweights, weights)
        self._memory_backward(v, z, n)
        dg = self._candidate_backward(n)
        # g = r * v:                dr = v dg,   dv += r dg
        torch.mul(v, dg, out=dp_r)
        dv.addcmul_(r, dg)
        # r, z = sigma(p_rz + U_rz v):  dp_r = r (1 - r) dr,   dp_z = z (1 - z) dz,   dv += U_rz^T dp_rz,
        #                           dU_rz += sum_j dp_rz v^T
        sigmoid_backward(dp_rz, rzn[..., : 2 * self.size], out=dp_rz)
        low = rows(dp_rz).to(dtype)
        self.gates_product_back.add_to(rows(dv), low)
        add_outer(self.drecurrent_gates, low, rows(v), dtype)
        # p = W s + k_j:            dk_j += dp,   d(W s) = sum_j dp,   ds = W^T d(W s)
        self.dkeys.add_(self.dp)
        dproducts = torch.sum(self.dp, dim=1, out=self.dproducts[t])
        return self.query_product_back(dproducts)

    def _energies_backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> None:
        """From c and alpha to v'."""
        _, v, _ = self._unpack()
        self.dcontexts[t] = dcontext
        de = attend_backward(dcontext, dweights, weights, self.annotations).to(self.dv.dtype)
        # e_j = v_a^T y_j:          dv_a = sum_j de_j y_j,   dy_j = de_j v_a
        y = tanh_(self.dg.copy_(v[t + 1]))
        self.denergy.addmv_(rows(y).t(), de.flatten())
        # y_j = tanh(v'_j):         dv'_j += (1 - y_j^2) dy_j
        slope = torch.addcmul(self.one, y, y, value=-1, out=y)
        self.dv.addcmul_(slope.mul_(self.energy), de.unsqueeze(2))

    def _memory_backward(self, v: Tensor, z: Tensor, n: Tensor) -> None:
        """From v' to v, z and n."""
        dv, (_, dp_z, dp_n) = self.dv, self.dp.chunk(3, dim=2)
        # v' = (1 - z) v + z n:     dn = z dv',   dz = (n - v) dv',   dv = (1 - z) dv' + ...
        torch.mul(z, dv, out=dp_n)
        torch.sub(n, v, out=dp_z).mul_(dv)
        dv.addcmul_(z, dv, value=-1)

    def _candidate_backward(self, n: Tensor) -> Tensor:
        """From n to p_n; returns dg ``(B, S, A)``."""
        _, _, dp_n = self.dp.chunk(3, dim=2)
        # n = tanh(p_n + U g):      dp_n = (1 - n^2) dn,   dg = U^T dp_n,   dU += sum_j dp_n g^T
        tanh_backward(dp_n, n, out=dp_n)
        low = rows(dp_n).to(self.query.dtype)
        add_outer(self.drecurrent, low, rows(self.g), self.query.dtype)
        return self.product_back(low).view_as(self.g)

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """dW = sum_t d(W s_t) s_t^T, and the sums over steps: dU_rz, dU, dv_a, dk, dh; last dv_0."""
        dtype = self.query.dtype
        return (
            weight_gradient(self.dproducts, queries, dtype),
            self.drecurrent_gates,
            self.drecurrent,
            self.denergy.unsqueeze(0),
            self.dkeys,
            annotations_gradient(self.dcontexts, weights, dtype),
            None,
            self.dv,
        )


def rows(x: Tensor) -> Tensor:
    """``(B, S, N)`` -> ``(B * S, N)``, the same memory."""
    return x.flatten(0, 1)
