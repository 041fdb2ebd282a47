"""Contexts from a known alignment instead of the attention's weights ("Training Using Known Alignment").

Letters: B batch, T target length, S source length, C annotation size.
"""

import torch
from torch import Tensor

Given = tuple[Tensor, Tensor]
"""Contexts ``(B, T, C)``, and bool ``(B, T, 1)``, True if the target word has links; for one step without the T."""


def given_contexts(known: Tensor, annotations: Tensor) -> Given:
    """The contexts of a known alignment.

    ``known (B, T, S)``: a_ij, the weights of a linked word sum to 1 and those of an unlinked one are 0;
    ``annotations (B, S, C)``.
    """
    # c_i = sum_j a_ij h_j
    contexts = torch.bmm(known.to(annotations.dtype), annotations)
    return contexts, known.sum(dim=2, keepdim=True) > 0


def unbind(given: Given) -> list[Given]:
    """The given contexts of each of T steps."""
    return list(zip(*(tensor.unbind(1) for tensor in given), strict=True))


def read(context: Tensor, given: Given) -> Tensor:
    """The given context ``(B, C)`` where there is one, else the attention's own."""
    contexts, linked = given
    return torch.where(linked, contexts.to(context.dtype), context)
