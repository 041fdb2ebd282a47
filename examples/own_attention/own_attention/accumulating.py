"""Attention that sees how much each source position has received so far.

Letters as in unrolled.models.attention: B sentences, N hypotheses of them, S source length, Q query size, C annotation
size, A attention size.
"""

import torch
from torch import Tensor, nn

from unrolled.models.attention import Attention, Nested, add, attend


class AccumulatingAttention(Attention):
    """e_ij = v^T tanh(W_s s + W_h h_j + w_c c_ij + b), c_ij = sum_{k<i} alpha_kj (See et al. 2017, eqs 10-11)."""

    def __init__(self, *, query_size: int, annotation_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)  # W_s
        self.keys = nn.Linear(annotation_size, size)  # W_h, b
        self.received = nn.Linear(1, size, bias=False)  # w_c
        self.energy = nn.Linear(size, 1, bias=False)  # v

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys W_h h_j + b ``(B, S, A)``, annotations ``(B, S, C)``, valid ``(B, S)``."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """c_1 = 0 ``(B, S)``."""
        keys, _, _ = prepared
        return (self.energy.weight.new_zeros(keys.shape[:2]),)

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One target word: context ``(N, C)``, weights ``(N, S)``, the memory c ``(N, S)``."""
        keys, annotations, valid = prepared
        (received,) = state
        # e_ij = v^T tanh(W_s s + W_h h_j + w_c c_ij + b)
        hidden = torch.tanh(add(self.query(query), keys) + self.received(received.unsqueeze(-1)))
        context, weights = attend(self.energy(hidden).squeeze(-1), annotations, valid)
        # c_{i+1,j} = c_ij + alpha_ij
        return context, weights, (received + weights.to(received.dtype),)
