"""Attention that sees where it looked before. The contract and the letters are those of `attention.py`; K filters."""

from torch import Tensor, nn
from torch.nn.functional import pad
from typing_extensions import override

from unrolled.errors import UserError
from unrolled.models.attention import Attention, Nested, add, attend
from unrolled.models.fast.feature_attention import LocationAttentionKernel
from unrolled.models.fast.kernel import AttentionKernel
from unrolled.models.fast.squash import tanh


class LocationAttention(Attention):
    """Additive attention with convolutional features of the previous weights (Chorowski et al. 2015, section 2.2).

    e_ij = v_a^T tanh(W_a s + U_a h_j + V_a f_ij), f_i = F * alpha_{i-1}: F holds K filters of ``kernel_size`` source
    positions, centred at j. alpha_0 = 0, as nothing was looked at before the first step. UserError: an even size.
    """

    sums_annotations = True

    def __init__(self, *, query_size: int, annotation_size: int, size: int, filters: int, kernel_size: int) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise UserError(f"attention.kernel_size={kernel_size}: a filter needs a centre: give an odd number")
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.keys = nn.Linear(annotation_size, size)  # U_a and a bias
        self.reach = kernel_size // 2
        self.filters = nn.Linear(kernel_size, filters, bias=False)  # F
        self.features = nn.Linear(filters, size, bias=False)  # V_a
        self.energy = nn.Linear(size, 1, bias=False)  # v_a

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """Keys U_a h_j ``(B, S, A)``, annotations, valid."""
        return (self.keys(annotations), annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """alpha_0 = 0, ``(B, S, 1)``."""
        batch, length, _ = prepared[0].shape
        return (self.energy.weight.new_zeros(batch, length, 1),)

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """One step; the memory is the previous weights ``(N, S, 1)``."""
        keys, annotations, valid = prepared
        (previous,) = state
        # f_i = F * alpha_{i-1}: each filter times the weights around each position
        around = pad(previous.squeeze(-1), (self.reach, self.reach)).unfold(1, 2 * self.reach + 1, 1)
        features = self.filters(around)
        # e_ij = v_a^T tanh(W_a s + U_a h_j + V_a f_ij)
        hidden = tanh(add(self.query(query), keys) + self.features(features))
        context, weights = attend(self.energy(hidden).squeeze(-1), annotations, valid)
        return context, weights, (weights.unsqueeze(-1).to(previous.dtype),)

    @override
    def kernel(self, prepared: Nested, state: Nested) -> AttentionKernel:
        weights = (layer.weight for layer in (self.query, self.energy, self.features))
        return LocationAttentionKernel(*weights, *prepared, self.filters.weight, *state)
