"""Teaching the attention: by known alignments, and by a penalty on uneven use of the source.

Letters: B batch, T target length, S source length. alpha are the model's weights ``(B, T, S)``, a the known alignment
``(B, T, S)``: the weights of a linked target word sum to 1, those of an unlinked one are 0. All sums are over a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.errors import NOT_NEGATIVE, Numbers, UserError, check
from unrolled.models.translator import Translator

SMALLEST = 1e-20  # weights are raised to this: at most 46 nats if soft-max has rounded a weight to 0


def cross_entropy(weights: Tensor, known: Tensor) -> Tensor:
    """-sum_ij a_ij log alpha_ij (Chen et al. 2016, "Guided Alignment Training"; Liu et al. 2016)."""
    return -(known * torch.log(weights.clamp_min(SMALLEST))).sum()


def squared_error(weights: Tensor, known: Tensor) -> Tensor:
    """1/2 sum_ij (a_ij - alpha_ij)^2 over linked words i (Liu et al. 2016, "... with Supervised Attention")."""
    linked = known.sum(dim=2, keepdim=True) > 0
    return 0.5 * ((known - weights) * linked).square().sum()


def doubly_stochastic(weights: Tensor, counted: Tensor, source_valid: Tensor) -> Tensor:
    """sum_j (T/S - sum_i alpha_ij)^2: every source position should get its share (Xu et al. 2015, eq 14, has T/S = 1).

    bool ``counted (B, T)`` and ``source_valid (B, S)``: the real positions, T and S their numbers. dl4mt's alpha_c is
    the weight of this sum, with T/S rounded down to a whole number, and including padding.
    """
    received = (weights * counted.unsqueeze(2)).sum(dim=1)
    share = counted.sum(dim=1, keepdim=True) / source_valid.sum(dim=1, keepdim=True)
    return ((share - received) * source_valid).square().sum()


@dataclass(frozen=True, kw_only=True)
class Supervision:
    """How a translator learns from known alignments.

    source, share: their origin, and how many pairs have them, see `unrolled.data.known_alignments`. replace: they give
    the contexts in training. distance: between the model's weights and theirs, added to the loss with factor
    ``weight``, which is multiplied by ``decay`` after every epoch. UserError: an invalid weight or decay, a choice that
    teaches nothing.
    """

    source: str
    replace: bool
    distance: Callable[[Tensor, Tensor], Tensor]
    weight: float
    decay: float
    share: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        check("alignment.weight", self.weight, NOT_NEGATIVE)
        check("alignment.decay", self.decay, Numbers(above=0, most=1))
        if self.weight == 0 and not self.replace:
            raise UserError("alignment.weight=0 teaches nothing: give a number above 0, or use alignment=none")

    def loss(self, weights: Tensor, known: Tensor, epoch: int) -> Tensor:
        """What is added to the summed loss of a batch in an epoch, from 0."""
        return self.weight * self.decay**epoch * self.distance(weights, known)


def check_supervision(model: Translator, supervision: Supervision | None, penalty: float) -> None:
    """UserError: an invalid ``penalty``; a model without attention."""
    check("objective.doubly_stochastic", penalty, NOT_NEGATIVE)
    if model.attention is not None:
        return
    mistakes = {"alignment=none": supervision is not None, "objective.doubly_stochastic=0": penalty > 0}
    for instead in (choice for choice, mistaken in mistakes.items() if mistaken):
        raise UserError(f"this model has no attention to teach: give {instead}, or use model=cgru")
