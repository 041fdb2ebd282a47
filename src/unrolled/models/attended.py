"""Where a translator looks under forced decoding, and how much of its memory stands at each source position.

Letters: B batch, T target length, S source length, X size of a position's memory.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from unrolled.models.translator import Translator


class Attended(NamedTuple):
    """What the attention did at each of the T steps."""

    weights: Tensor
    """``(B, T, S)``"""
    memory_norms: Tensor | None
    """``(B, T, S)``: ||v_ij||, v_ij the memory of source position j after step i; None: the attention has none."""


def attended(model: Translator, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> Attended:
    """Step by step, from ``source (B, S)``, CPU ``source_lengths (B,)`` and ``target_in (B, T)`` beginning with <s>.

    Padding has weight 0, and a norm that means nothing.
    """
    decoder = model.decoder
    state = decoder.start(*model.encode(source, source_lengths))
    embeddings = model.embedding_dropout(model.target_embedding(target_in))
    weights, norms = [], []
    for projected in decoder.project(embeddings).unbind(1):
        _, alpha, state = decoder.advance(projected, state)
        weights.append(alpha)
        norms.append(position_norms(decoder.memory(state)))
    known = [norm for norm in norms if norm is not None]
    return Attended(torch.stack(weights, dim=1), torch.stack(known, dim=1) if known else None)


def position_norms(memory: tuple[Any, ...]) -> Tensor | None:
    """The L2 norm ``(B, S)`` of what ``memory`` has of each source position; None where it has nothing of the kind.

    A part with a position dimension is ``(B, S, X)``; gru_att_pooled's pool ``(B, X)`` belongs to no position.
    """
    parts = [part for part in memory if part.dim() == 3]
    return torch.linalg.vector_norm(torch.cat(parts, dim=-1).float(), dim=-1) if parts else None
