"""Additive attention that reads features of each source position, with its backward pass: coverage and location.

The letters are those of `models.fast.attention`; F features, R numbers of coverage, K taps of a filter.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad
from typing_extensions import override

from unrolled.models.fast.attention import annotations_gradient, attend, attend_backward, rows
from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.products import Product, add_outer, weight_gradient
from unrolled.models.fast.squash import sigmoid_backward, tanh_, tanh_backward


class FeatureAttentionKernel(AttentionKernel):
    """e_j = v^T y_j, y_j = tanh(W s + k_j + V f_j), alpha = softmax(e), c = sum_j alpha_j h_j.

    As in ``BahdanauAttentionKernel``, y_j = 2 u_j - 1 with u_j = sigma(2 W s + 2 k_j + 2 V f_j).

    A subclass says what the features f are. Inputs: W ``(A, Q)``, v ``(1, A)``, V ``(A, F)``, keys k ``(B, S, A)``,
    annotations h ``(B, S, C)``, valid ``(B, S)``, and those of the features. Kept: 2 W s ``(T, B, A)``, and what the
    features need. u is computed again.
    """

    def features(self, t: int) -> Tensor:
        """f ``(B, S, F)`` of step t, before its weights are known."""
        raise NotImplementedError

    def attended(self, t: int, query: Tensor, weights: Tensor) -> None:
        """The weights ``(B, S)`` of step t are known: prepare the features of the next."""
        raise NotImplementedError

    def attended_backward(self, t: int, weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """The gradients of the weights ``(B, S)`` and the query ``(B, Q)`` from later features; None for 0."""
        raise NotImplementedError

    def features_backward(self, t: int, df: Tensor) -> None:
        """``(B * S, F)``: continues to what the features were computed from."""
        raise NotImplementedError

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        query, energy, layer, keys, annotations, self.valid, *_ = self.inputs
        self.query, self.annotations = query.to(dtype), annotations.to(dtype)
        self.energy = energy.to(state.dtype).squeeze(0)
        self.twice_energy, self.twice_keys = 2 * self.energy, 2 * keys.to(state.dtype)
        self.layer, self.twice_layer = layer.to(state.dtype), 2 * layer.to(dtype)
        self.u = torch.empty_like(self.twice_keys)

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        self.kept = (state.new_empty(steps, len(state), len(self.energy)),)
        self.query_product = Product(self.query, rows=len(state), times=steps)
        self.layer_product = Product(self.twice_layer, rows=self.valid.numel(), times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        self.query_product_back = Product(self.query.t(), rows=len(state), times=steps)
        self.layer_product = Product(self.twice_layer, rows=self.valid.numel(), times=steps)
        # dx_j = 4 (u_j - u_j^2) de_j v: the factor 4 v, the same for all j, is in this layer and at the end
        layer = (4 * self.energy).unsqueeze(1) * self.layer
        self.layer_product_back = Product(layer.to(self.query.dtype).t(), rows=self.valid.numel(), times=steps)
        self.dquery_products = torch.empty_like(self.kept[0])
        self.dkeys = torch.zeros_like(self.u)
        self.denergy = torch.zeros_like(self.energy)
        self.dlayer = torch.zeros_like(self.layer)
        self.dcontexts = state.new_empty(steps, len(state), self.annotations.shape[2])

    def _u(self, t: int, f: Tensor) -> Tensor:
        # u_j = sigma(2 W s + 2 k_j + 2 V f_j)
        u = torch.add(self.twice_keys, self.kept[0][t].unsqueeze(1), out=self.u)
        self.layer_product.add_to(rows(u), rows(f))
        return u.sigmoid_()

    @override
    def forward(self, t: int, query: Tensor, context: Tensor, weights: Tensor) -> None:
        torch.mul(self.query_product(query), 2, out=self.kept[0][t])
        # e_j = 2 v^T u_j, up to a constant over j
        energies = torch.mv(rows(self._u(t, self.features(t))), self.twice_energy).view(weights.shape)
        attend(energies, self.annotations, self.valid, context, weights)
        self.attended(t, query, weights)

    @override
    def backward(self, t: int, dcontext: Tensor, dweights: Tensor | None, weights: Tensor) -> Tensor:
        self.dcontexts[t] = dcontext
        dalpha, dquery = self.attended_backward(t, weights)
        dalpha = dalpha.to(weights.dtype) if dweights is None else dalpha + dweights
        de = attend_backward(dcontext, dalpha, weights, self.annotations).to(self.u.dtype)
        f = self.features(t)
        u = self._u(t, f)
        # e_j = v^T (2 u_j - 1):    dv = 2 sum_j de_j u_j, as sum_j de_j = 0,   dy_j = de_j v
        self.denergy.addmv_(rows(u).t(), de.flatten(), alpha=2)
        # y_j = tanh(x_j):          dx_j = 4 (u_j - u_j^2) de_j v, here without 4 v
        dx = torch.addcmul(u, u, u, value=-1, out=u).mul_(de.unsqueeze(2))
        # x_j = W s + k_j + V f_j:  dk_j += dx_j,   d(W s) = sum_j dx_j,   df_j = V^T dx_j,   dV += sum_j dx_j f_j^T
        self.dkeys.add_(dx)
        torch.mul(dx.sum(dim=1), 4 * self.energy, out=self.dquery_products[t])
        low = rows(dx).to(self.query.dtype)
        add_outer(self.dlayer, low, rows(f), self.query.dtype)
        self.features_backward(t, self.layer_product_back(low).to(f.dtype))
        # ds = W^T d(W s)
        ds = self.query_product_back(self.dquery_products[t])
        return ds if dquery is None else ds.add_(dquery)

    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """dW = sum_t d(W s_t) s_t^T, and the sums over steps: dv, dV, dk, dh; then those of the features."""
        slopes = 4 * self.energy
        return (
            weight_gradient(self.dquery_products, queries, self.query.dtype),
            self.denergy.unsqueeze(0),
            self.dlayer.mul_(slopes.unsqueeze(1)),
            self.dkeys.mul_(slopes),
            annotations_gradient(self.dcontexts, weights, self.query.dtype),
            None,
        )


class CoverageAttentionKernel(FeatureAttentionKernel):
    """f is the coverage C of the step before, and C' = (1 - u) C + u n with r, u = sigma(p_ru + G_ru C),
    n = tanh(p_n + G g), g = r * C, p_j = w alpha_j + U s + a_j.

    More inputs: w ``(3R, 1)``, U ``(3R, Q)``, G_ru ``(2R, R)``, G ``(R, R)``, the annotations' products a
    ``(B, S, 3R)``, C_0 ``(B, S, R)``. Kept: C_0 ... C_T ``(T + 1, B, S, R)`` and r, u, n ``(T, B, S, 3R)``.
    """

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        super().load(state, dtype)
        weight, query, gates, recurrent, products, self.start = self.inputs[6:]
        self.of_weight, self.of_query = weight.to(state.dtype).squeeze(1), query.to(dtype)
        self.recurrent_gates, self.recurrent = gates.to(dtype), recurrent.to(dtype)
        self.annotation_products = products.to(state.dtype)
        self.size = recurrent.shape[0]

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        super().begin(steps, state)
        coverages = self.start.new_empty(steps + 1, *self.start.shape)
        coverages[0] = self.start
        self.kept = (*self.kept, coverages, state.new_empty(steps, *self.annotation_products.shape))
        self.update_product = Product(self.of_query, rows=len(state), times=steps)
        self.gates_product = Product(self.recurrent_gates, rows=self.valid.numel(), times=steps)
        self.product = Product(self.recurrent, rows=self.valid.numel(), times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        super().begin_backward(steps, state)
        self.update_product_back = Product(self.of_query.t(), rows=len(state), times=steps)
        self.gates_product_back = Product(self.recurrent_gates.t(), rows=self.valid.numel(), times=steps)
        self.product_back = Product(self.recurrent.t(), rows=self.valid.numel(), times=steps)
        self.dcoverage = torch.zeros_like(self.start)
        self.dp = torch.empty_like(self.annotation_products)
        self.dannotation_products = torch.zeros_like(self.dp)
        self.dupdates = state.new_empty(steps, len(state), 3 * self.size)
        self.dof_weight = torch.zeros_like(self.of_weight)
        self.drecurrent_gates = torch.zeros_like(self.inputs[8])
        self.drecurrent = torch.zeros_like(self.inputs[9])

    @override
    def features(self, t: int) -> Tensor:
        return self.kept[1][t]

    @override
    def attended(self, t: int, query: Tensor, weights: Tensor) -> None:
        _, coverage, gates = self.kept
        # p_j = w alpha_j + U s + a_j
        p = torch.add(self.annotation_products, self.update_product(query).unsqueeze(1), out=gates[t])
        p.addcmul_(weights.to(p.dtype).unsqueeze(2), self.of_weight)
        ru, n = p.split([2 * self.size, self.size], dim=2)
        # r, u = sigma(p_ru + G_ru C)
        self.gates_product.add_to(rows(ru), rows(coverage[t]))
        r, u = ru.sigmoid_().chunk(2, dim=2)
        # n = tanh(p_n + G g), g = r * C
        self.product.add_to(rows(n), rows(r * coverage[t]))
        tanh_(n)
        # C' = (1 - u) C + u n
        torch.lerp(coverage[t], n, u, out=coverage[t + 1])

    @override
    def attended_backward(self, t: int, weights: Tensor) -> tuple[Tensor, Tensor | None]:
        """``dcoverage`` arrives as dC', and leaves as dC without the part of the energies."""
        _, coverages, gates = self.kept
        coverage, dcoverage, dtype = coverages[t], self.dcoverage, self.query.dtype
        r, u, n = gates[t].chunk(3, dim=2)
        dp_ru, dp_n = self.dp.split([2 * self.size, self.size], dim=2)
        dp_r, dp_u = dp_ru.chunk(2, dim=2)
        # C' = (1 - u) C + u n:     dn = u dC',   du = (n - C) dC',   dC = (1 - u) dC' + ...
        torch.mul(u, dcoverage, out=dp_n)
        torch.sub(n, coverage, out=dp_u).mul_(dcoverage)
        dcoverage.addcmul_(u, dcoverage, value=-1)
        # n = tanh(p_n + G g):      dp_n = (1 - n^2) dn,   dg = G^T dp_n,   dG += sum_j dp_n g^T
        tanh_backward(dp_n, n, out=dp_n)
        low = rows(dp_n).to(dtype)
        dg = self.product_back(low).view_as(coverage)
        add_outer(self.drecurrent, low, rows(r * coverage), dtype)
        # g = r * C:                dr = C dg,   dC += r dg
        torch.mul(coverage, dg, out=dp_r)
        dcoverage.addcmul_(r, dg)
        # r, u = sigma(p_ru + G_ru C):  dp_r = r (1 - r) dr,   dp_u = u (1 - u) du,   dC += G_ru^T dp_ru,
        #                           dG_ru += sum_j dp_ru C^T
        sigmoid_backward(dp_ru, gates[t][..., : 2 * self.size], out=dp_ru)
        low = rows(dp_ru).to(dtype)
        self.gates_product_back.add_to(rows(dcoverage), low)
        add_outer(self.drecurrent_gates, low, rows(coverage), dtype)
        # p_j = w alpha_j + U s + a_j:  dalpha_j = w^T dp_j,   dw += sum_j alpha_j dp_j,   da_j += dp_j,
        #                           d(U s) = sum_j dp_j,   ds = U^T d(U s)
        dalpha = torch.mv(rows(self.dp), self.of_weight).view(weights.shape)
        self.dof_weight.addmv_(rows(self.dp).t(), weights.to(self.dp.dtype).flatten())
        self.dannotation_products.add_(self.dp)
        dupdate = torch.sum(self.dp, dim=1, out=self.dupdates[t])
        return dalpha, self.update_product_back(dupdate)

    @override
    def features_backward(self, t: int, df: Tensor) -> None:
        rows(self.dcoverage).add_(df)

    @override
    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """Those of ``FeatureAttentionKernel``; then dw, dU, dG_ru, dG, da, dC_0."""
        return (
            *super().gradients(queries, weights),
            self.dof_weight.unsqueeze(1),
            weight_gradient(self.dupdates, queries, self.query.dtype),
            self.drecurrent_gates,
            self.drecurrent,
            self.dannotation_products,
            self.dcoverage,
        )


class LocationAttentionKernel(FeatureAttentionKernel):
    """f_j = H a_j, where a_j holds the K previous weights around position j.

    More inputs: H ``(F, K)``, alpha_0 ``(B, S, 1)``.
    Kept: alpha_0 ... alpha_T ``(T + 1, B, S + K - 1)``, padded with zeros.
    """

    @override
    def load(self, state: Tensor, dtype: torch.dtype) -> None:
        super().load(state, dtype)
        filters, self.start = self.inputs[6:]
        self.filters = filters.to(dtype)
        self.taps = filters.shape[1]
        self.reach = self.taps // 2

    @override
    def begin(self, steps: int, state: Tensor) -> None:
        super().begin(steps, state)
        first = pad(self.start.squeeze(2), (self.reach, self.reach))
        padded = first.new_zeros(steps + 1, *first.shape)
        padded[0] = first
        self.kept = (*self.kept, padded)
        self.filter_product = Product(self.filters, rows=self.valid.numel(), times=steps)

    @override
    def begin_backward(self, steps: int, state: Tensor) -> None:
        super().begin_backward(steps, state)
        self.filter_product = Product(self.filters, rows=self.valid.numel(), times=steps)
        self.filter_product_back = Product(self.filters.t(), rows=self.valid.numel(), times=steps)
        self.dfilters = torch.zeros_like(self.inputs[6])
        self.dprevious = torch.zeros_like(self.start.squeeze(2))

    def _around(self, t: int) -> Tensor:
        """a ``(B * S, K)``."""
        return rows(self.kept[1][t].unfold(1, self.taps, 1))

    @override
    def features(self, t: int) -> Tensor:
        # f_j = H a_j
        return self.filter_product(self._around(t)).view(*self.valid.shape, -1)

    @override
    def attended(self, t: int, query: Tensor, weights: Tensor) -> None:
        self.kept[1][t + 1].narrow(1, self.reach, weights.shape[1]).copy_(weights)

    @override
    def attended_backward(self, t: int, weights: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.dprevious, None

    @override
    def features_backward(self, t: int, df: Tensor) -> None:
        # f_j = H a_j:              da_j = H^T df_j,   dH += sum_j df_j a_j^T
        low = df.to(self.filters.dtype)
        add_outer(self.dfilters, low, self._around(t), self.filters.dtype)
        around = self.filter_product_back(low).to(df.dtype).view(*self.valid.shape, -1)
        # each weight is in the a of the K positions around it
        padded = torch.ops.aten.unfold_backward(around, self.kept[1][t].shape, 1, self.taps, 1)
        self.dprevious = padded[:, self.reach : self.reach + self.valid.shape[1]]

    @override
    def gradients(self, queries: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
        """Those of ``FeatureAttentionKernel``; then dH, dalpha_0."""
        return *super().gradients(queries, weights), self.dfilters, self.dprevious.unsqueeze(2)
