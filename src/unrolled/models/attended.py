"""Where a translator looks under forced decoding, and how large its memory is at each source position.

Letters: B batch, T target length, S source length, X size of a position's memory.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from unrolled.models.translator import Translator


class Attended(NamedTuple):
    """Weights and memory norms of the attention at each of the T steps."""

    weights: Tensor
    """``(B, T, S)``"""
    memory_norms: Tensor | None
    """``(B, T, S)``: ||v_ij||, v_ij the memory of source position j after step i; None without a memory."""


def attended(model: Translator, source: Tensor, source_lengths: Tensor, target_in: Tensor) -> Attended:
    """Step by step, from ``source (B, S)``, CPU ``source_lengths (B,)`` and ``target_in (B, T)`` beginning with <s>.

    Padding has weight 0, and a meaningless norm.
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
    """The L2 norm ``(B, S)`` of the memory of each source position; None if ``memory`` has nothing per position.

    A tensor with a position dimension is ``(B, S, X)``; gru_att_pooled's pool ``(B, X)`` belongs to no position.
    """
    by_position = [tensor for tensor in memory if tensor.dim() == 3]
    return torch.linalg.vector_norm(torch.cat(by_position, dim=-1).float(), dim=-1) if by_position else None
