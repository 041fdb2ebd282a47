"""Attention mechanisms, one class per equation, all with the same methods and no state on the module.

Letters: B sentences, N hypotheses of them, S source length, Q query size, C annotation size, A attention size.

* ``prepare(annotations (B, S, C), valid (B, S)) -> prepared``: everything that depends on the sentence only, once;
* ``start(prepared) -> state``: ``()``, or the attention memory before the first target word;
* ``step(query (N, Q), prepared, state) -> context (N, C), weights (N, S), state``: padding gets weight exactly 0.

``prepared`` and ``state`` are nested tuples of tensors whose first dimension is B and N. N = B, or in search N = B K, K
hypotheses of each sentence, one sentence after the other: no tensor of a sentence is repeated for its hypotheses. A
tensor ``(N, S, X)`` of the state is shown and probed as the memory of the source positions (`models/attended.py`).
In the equations s is the query, h_j an annotation, i counts target steps and j source positions.
"""

from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import UserError
from unrolled.models.fast.attention import BahdanauAttentionKernel, GRUAttentionKernel, ProductAttentionKernel
from unrolled.models.fast.feature_attention import CoverageAttentionKernel
from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.pooled_attention import PooledGRUAttentionKernel
from unrolled.models.fast.squash import product_of_tanh, tanh
from unrolled.models.fast.unpadded import energies_of_sums

Nested = tuple[Any, ...]


class Attention(nn.Module):
    """The contract; see the top of the file."""

    sums_annotations = False
    """Whether ``prepared`` is (..., annotations, valid) and ``step`` uses the annotations only for the context
    c = sum_j alpha_j h_j: a search may then let it sum products W h_j instead (`unrolled.models.fast.hoisted`). Set by
    the class that defines ``step``."""

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """``(B, S, C)``, bool ``(B, S)`` -> what is the same for all steps of the sentence."""
        raise NotImplementedError

    def start(self, prepared: Nested) -> Nested:
        """The attention memory before the first step."""
        raise NotImplementedError

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """``(N, Q)`` -> context ``(N, C)``, weights ``(N, S)``, the next attention memory."""
        raise NotImplementedError

    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel | None:
        """``step`` with a hand-written backward pass, or None. Change both together."""
        return None

    def gates(self, query: Tensor, prepared: Nested, state: Nested, weights: Tensor) -> dict[str, Tensor]:
        """The gates ``(N, S, size of the memory)`` in the step from ``state`` that gave ``weights``, by name.

        Not part of ``step``; {} for an attention without gates.
        """
        return {}


def attend(energies: Tensor, annotations: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Soft-max over the valid positions, and the weighted annotations.

    ``(N, S)``, ``(B, S, C)``, bool ``(B, S)`` -> context ``(N, C)``, weights ``(N, S)``. Every sentence needs one valid
    position. cGRU note eqs 6-7 in our letters: alpha_ij = exp(e_ij) / sum_k exp(e_ik), c_i = sum_j alpha_ij h_j.
    """
    if energies.dtype.itemsize < 4:
        energies = energies.float()  # half precision would not sum to one
    energies = energies.unflatten(0, (valid.shape[0], -1))  # (B, K, S): K hypotheses of each sentence
    weights = torch.softmax(energies.masked_fill(~valid.unsqueeze(1), float("-inf")), dim=-1)
    context = torch.bmm(weights.to(annotations.dtype), annotations)
    return context.flatten(0, 1), weights.flatten(0, 1)


def add(of_hypotheses: Tensor, of_sentences: Tensor) -> Tensor:
    """``(B K, X)`` or ``(B K, S, X)``, and ``(B, S, X)`` -> each hypothesis plus its sentence, ``(B K, S, X)``."""
    hypotheses = of_hypotheses if of_hypotheses.dim() == 3 else of_hypotheses.unsqueeze(1)
    sums = hypotheses.unflatten(0, (of_sentences.shape[0], -1)) + of_sentences.unsqueeze(1)
    return sums.flatten(0, 1)


def products(queries: Tensor, keys: Tensor) -> Tensor:
    """The inner product of every hypothesis and position: ``(B K, X)``, ``(B, S, X)`` -> ``(B K, S)``."""
    by_sentence = queries.to(keys.dtype).unflatten(0, (keys.shape[0], -1))
    return torch.bmm(by_sentence, keys.transpose(1, 2)).flatten(0, 1)


class BahdanauAttention(Attention):
    """Additive attention: e_ij = v_a^T tanh(W_a s + U_a h_j) (Bahdanau et al. 2015, A.1.2; cGRU note eq 8)."""

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.keys = nn.Linear(annotation_size, size)  # U_a and a bias
        self.energy = nn.Linear(size, 1, bias=False)  # v_a

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys U_a h_j ``(B, S, A)``, annotations, valid."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """No memory."""
        return ()

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        keys, annotations, valid = prepared
        # e_ij = v_a^T tanh(W_a s + U_a h_j)
        energies = energies_of_sums(self.energy, self.query(query), keys, valid)
        context, weights = attend(energies, annotations, valid)
        return context, weights, ()

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        return BahdanauAttentionKernel(self.query.weight, self.energy.weight, *prepared)


class DotAttention(Attention):
    """Dot-product attention: e_ij = s^T h_j (Luong et al. 2015, section 3.1, "dot"). Query size = annotation size."""

    def __init__(self, *, query_size: int, annotation_size: int) -> None:
        super().__init__()
        if query_size != annotation_size:
            raise UserError(
                f"attention=dot multiplies the decoder state ({query_size}) with annotations ({annotation_size} = "
                "2 x model.encoder_size): set model.decoder_size to twice model.encoder_size, or use attention=general"
            )

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Annotations, valid."""
        return (annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """No memory."""
        return ()

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        annotations, valid = prepared
        # e_ij = s^T h_j
        energies = products(query, annotations)
        context, weights = attend(energies, annotations, valid)
        return context, weights, ()

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        annotations, valid = prepared
        return ProductAttentionKernel(annotations, annotations, valid)


class GeneralAttention(Attention):
    """Bilinear attention: e_ij = s^T W_a h_j (Luong et al. 2015, section 3.1, "general")."""

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int) -> None:
        super().__init__()
        self.keys = nn.Linear(annotation_size, query_size, bias=False)  # W_a

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys W_a h_j ``(B, S, Q)``, annotations, valid."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """No memory."""
        return ()

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        keys, annotations, valid = prepared
        # e_ij = s^T W_a h_j
        energies = products(query, keys)
        context, weights = attend(energies, annotations, valid)
        return context, weights, ()

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        return ProductAttentionKernel(*prepared)


class GRUAttention(Attention):
    """Attention with GRU: energies from a GRU over each source position's previous alignment state (slides, form 1).

    e_ij = v_a^T tanh(v_ij), v_ij = (1 - z) v_{i-1,j} + z v~_ij with
    z = sigma(W_z s + U_z v_{i-1,j} + Q_z h_j), r = sigma(W_r s + U_r v_{i-1,j} + Q_r h_j),
    v~_ij = tanh(W s + U (r * v_{i-1,j}) + Q h_j): reset before. The memory starts at v_0 = 0.
    """

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.query = nn.Linear(query_size, 3 * size, bias=False)  # W_r, W_z, W
        self.keys = nn.Linear(annotation_size, 3 * size)  # Q_r, Q_z, Q and biases
        self.recurrent_gates = nn.Linear(size, 2 * size, bias=False)  # U_r, U_z
        self.recurrent = nn.Linear(size, size, bias=False)  # U
        self.energy = nn.Linear(size, 1, bias=False)  # v_a

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys [Q_r h_j, Q_z h_j, Q h_j] ``(B, S, 3A)``, annotations, valid."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """v_0 = 0, ``(B, S, A)``."""
        batch, length, _ = prepared[0].shape
        return (self.recurrent.weight.new_zeros(batch, length, self.size),)

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One step; the memory is v ``(N, S, A)``."""
        keys, annotations, valid = prepared
        (v,) = state
        # W s + Q h_j, for both gates and the candidate
        gates, candidate = add(self.query(query), keys).split([2 * self.size, self.size], dim=-1)
        # r = sigma(W_r s + U_r v_{i-1,j} + Q_r h_j), z = sigma(W_z s + U_z v_{i-1,j} + Q_z h_j)
        r, z = torch.sigmoid(gates + self.recurrent_gates(v)).chunk(2, dim=-1)
        # v~_ij = tanh(W s + U (r * v_{i-1,j}) + Q h_j)
        candidate = tanh(candidate + self.recurrent(r * v))
        # v_ij = (1 - z) v_{i-1,j} + z v~_ij
        v = torch.lerp(v, candidate.to(v.dtype), z.to(v.dtype))
        # e_ij = v_a^T tanh(v_ij)
        energies = product_of_tanh(self.energy, v).squeeze(-1)
        context, weights = attend(energies, annotations, valid)
        return context, weights, (v,)

    @override
    def gates(self, query: Tensor, prepared: Nested, state: Nested, weights: Tensor) -> dict[str, Tensor]:
        (v,) = state
        products = add(self.query(query), prepared[0])[..., : 2 * self.size] + self.recurrent_gates(v)
        r, z = torch.sigmoid(products).chunk(2, dim=-1)
        return {"reset": r, "update": z}

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        weights = (layer.weight for layer in (self.query, self.recurrent_gates, self.recurrent, self.energy))
        return GRUAttentionKernel(*weights, *prepared, *state)


class PooledGRUAttention(Attention):
    """Attention with GRU whose gates and candidate see one pooled memory (slides, form 2).

    The slide's second form writes v_{i-1} without the position j in gates and candidate, and v_{i-1,j} in the
    interpolation. Our reading: v_{i-1} = sum_j alpha_{i-1,j} v_{i-1,j}, the memory where the model last looked.
    z = sigma(W_z s + U_z v_{i-1} + Q_z h_j), r = sigma(W_r s + U_r v_{i-1} + Q_r h_j),
    v~_ij = tanh(W s + U (r * v_{i-1}) + Q h_j), v_ij = (1 - z) v_{i-1,j} + z v~_ij, e_ij = v_a^T tanh(v_ij).
    """

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.query = nn.Linear(query_size, 3 * size, bias=False)  # W_r, W_z, W
        self.keys = nn.Linear(annotation_size, 3 * size)  # Q_r, Q_z, Q and biases
        self.recurrent_gates = nn.Linear(size, 2 * size, bias=False)  # U_r, U_z
        self.recurrent = nn.Linear(size, size, bias=False)  # U
        self.energy = nn.Linear(size, 1, bias=False)  # v_a

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys [Q_r h_j, Q_z h_j, Q h_j] ``(B, S, 3A)``, annotations, valid."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """v_{0,j} = 0 ``(B, S, A)`` and its pool 0 ``(B, A)``."""
        batch, length, _ = prepared[0].shape
        zeros = self.recurrent.weight.new_zeros
        return (zeros(batch, length, self.size), zeros(batch, self.size))

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One step; the memory is v ``(N, S, A)`` and its pool ``(N, A)``."""
        keys, annotations, valid = prepared
        v, pooled = state
        # (W_r s + U_r v_{i-1}, W_z s + U_z v_{i-1}) + Q h_j; the sentence side is added once per step
        query_gates, query_candidate = self.query(query).split([2 * self.size, self.size], dim=-1)
        key_gates, key_candidate = keys.split([2 * self.size, self.size], dim=-1)
        r, z = torch.sigmoid(add(query_gates + self.recurrent_gates(pooled), key_gates)).chunk(2, dim=-1)
        # v~_ij = tanh(W s + U (r_ij * v_{i-1}) + Q h_j)
        candidate = tanh(add(query_candidate.unsqueeze(1) + self.recurrent(r * pooled.unsqueeze(1)), key_candidate))
        # v_ij = (1 - z) v_{i-1,j} + z v~_ij
        v = torch.lerp(v, candidate.to(v.dtype), z.to(v.dtype))
        # e_ij = v_a^T tanh(v_ij)
        energies = product_of_tanh(self.energy, v).squeeze(-1)
        context, weights = attend(energies, annotations, valid)
        # v_i = sum_j alpha_ij v_ij
        pooled = torch.bmm(weights.to(v.dtype).unsqueeze(1), v).squeeze(1).to(v.dtype)
        return context, weights, (v, pooled)

    @override
    def gates(self, query: Tensor, prepared: Nested, state: Nested, weights: Tensor) -> dict[str, Tensor]:
        _, pooled = state
        of_step = self.query(query)[..., : 2 * self.size] + self.recurrent_gates(pooled)
        r, z = torch.sigmoid(add(of_step, prepared[0][..., : 2 * self.size])).chunk(2, dim=-1)
        return {"reset": r, "update": z}

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        weights = (layer.weight for layer in (self.query, self.recurrent_gates, self.recurrent, self.energy))
        return PooledGRUAttentionKernel(*weights, *prepared, *state)


class CoverageAttention(Attention):
    """Attention with a neural coverage vector updated by a GRU (Tu et al. 2016, section 3, "with gating").

    e_ij = v_a^T tanh(W_a s + U_a h_j + V_a C_{i-1,j}); C_ij = GRU(C_{i-1,j}, [alpha_ij; h_j; s]): the gates see the
    weight that the position just received. C_0 = 0. The GRU is reset before, as in Cho et al. 2014; Sockeye 1's ``gru``
    coverage has the same inputs and a reset-after GRU.
    """

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int, coverage_size: int) -> None:
        super().__init__()
        self.coverage_size = coverage_size
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.keys = nn.Linear(annotation_size, size)  # U_a and a bias
        self.coverage = nn.Linear(coverage_size, size, bias=False)  # V_a
        self.energy = nn.Linear(size, 1, bias=False)  # v_a
        # The GRU's input products, split by input: weight, annotation, query
        self.update_weight = nn.Linear(1, 3 * coverage_size, bias=False)
        self.update_annotation = nn.Linear(annotation_size, 3 * coverage_size)
        self.update_query = nn.Linear(query_size, 3 * coverage_size, bias=False)
        self.recurrent_gates = nn.Linear(coverage_size, 2 * coverage_size, bias=False)
        self.recurrent = nn.Linear(coverage_size, coverage_size, bias=False)

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys U_a h_j ``(B, S, A)``, the annotations' GRU products, annotations, valid."""
        return (self.keys(annotations), self.update_annotation(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """C_0 = 0, ``(B, S, coverage size)``."""
        batch, length, _ = prepared[0].shape
        return (self.recurrent.weight.new_zeros(batch, length, self.coverage_size),)

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One step; the memory is the coverage C ``(N, S, coverage size)``."""
        keys, annotation_products, annotations, valid = prepared
        (coverage,) = state
        # e_ij = v_a^T tanh(W_a s + U_a h_j + V_a C_{i-1,j})
        energies = product_of_tanh(self.energy, add(self.query(query), keys) + self.coverage(coverage)).squeeze(-1)
        context, weights = attend(energies, annotations, valid)
        # C_ij = GRU(C_{i-1,j}, [alpha_ij; h_j; s])
        inputs = self.update_weight(weights.unsqueeze(-1)) + add(self.update_query(query), annotation_products)
        gates, candidate = inputs.split([2 * self.coverage_size, self.coverage_size], dim=-1)
        r, u = torch.sigmoid(gates + self.recurrent_gates(coverage)).chunk(2, dim=-1)
        candidate = tanh(candidate + self.recurrent(r * coverage))
        coverage = torch.lerp(coverage, candidate.to(coverage.dtype), u.to(coverage.dtype))
        return context, weights, (coverage,)

    @override
    def gates(self, query: Tensor, prepared: Nested, state: Nested, weights: Tensor) -> dict[str, Tensor]:
        (coverage,) = state
        inputs = self.update_weight(weights.unsqueeze(-1)) + add(self.update_query(query), prepared[1])
        r, u = torch.sigmoid(inputs[..., : 2 * self.coverage_size] + self.recurrent_gates(coverage)).chunk(2, dim=-1)
        return {"reset": r, "update": u}

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        keys, annotation_products, annotations, valid = prepared
        energies = (layer.weight for layer in (self.query, self.energy, self.coverage))
        update = (self.update_weight, self.update_query, self.recurrent_gates, self.recurrent)
        weights = (layer.weight for layer in update)
        return CoverageAttentionKernel(*energies, keys, annotations, valid, *weights, annotation_products, *state)
