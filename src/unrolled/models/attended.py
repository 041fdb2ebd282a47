"""Where a translator looks under forced decoding, what its attention remembers at each source position, and its gates.

Letters: B batch, T target length, S source length, X size of a position's memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from unrolled.models.attention import Attention, Nested
from unrolled.models.state import is_by_position, tensors_of
from unrolled.models.translator import Translator


class Attended(NamedTuple):
    """What the attention did at each of the T steps."""

    weights: Tensor
    """``(B, T, S)``"""
    memory_norms: Tensor | None
    """``(B, T, S)``: ||v_ij||, v_ij the memory of source position j after step i; None without a memory."""
    memory: Tensor | None = None
    """``(B, T, S, X)``: v_ij; None without a memory, or if it was not asked for."""
    gates: dict[str, Tensor] | None = None
    """By name ``(B, T, S, X)``: the values of the memory's gates in step i; {} without gates, None if not asked for."""


def attended(
    model: Translator, source: Tensor, source_lengths: Tensor, target_in: Tensor, *, inside: bool = False
) -> Attended:
    """Step by step, from ``source (B, S)``, CPU ``source_lengths (B,)`` and ``target_in (B, T)`` beginning with <s>.

    Padding has weight 0, and a meaningless memory. ``inside``: with memory and gates, which take X times the space.
    """
    decoder = model.decoder
    state = decoder.start(*model.encode(source, source_lengths))
    embeddings = model.embedding_dropout(model.target_embedding(target_in))
    weights, norms, memories = [], [], []
    with _noting_gates(model.attention if inside else None) as gates:
        for projected in decoder.project(embeddings).unbind(1):
            _, alpha, state = decoder.advance(projected, state)
            weights.append(alpha)
            memory, positions = decoder.memory(state), alpha.shape[1]
            norms.append(position_norms(memory, positions))
            memories.append(position_memory(memory, positions) if inside else None)
    names = gates[0] if gates else {}
    return Attended(
        torch.stack(weights, dim=1),
        _stacked(norms),
        _stacked(memories),
        {name: torch.stack([step[name].float() for step in gates], dim=1) for name in names} if inside else None,
    )


def _stacked(steps: list[Tensor | None]) -> Tensor | None:
    known = [step for step in steps if step is not None]
    return torch.stack(known, dim=1) if known else None


def position_norms(memory: tuple[Any, ...], positions: int) -> Tensor | None:
    """The L2 norm ``(B, S)`` of `position_memory`."""
    by_position = position_memory(memory, positions)
    return None if by_position is None else torch.linalg.vector_norm(by_position, dim=-1)


def position_memory(memory: tuple[Any, ...], positions: int) -> Tensor | None:
    """The memory ``(B, S, X)`` of each source position, float32; None if ``memory`` has nothing per position.

    These are the tensors that `is_by_position` accepts; gru_att_pooled's pool ``(B, X)`` belongs to no position.
    """
    by_position = [tensor for tensor in tensors_of(memory) if is_by_position(tensor, positions)]
    return torch.cat(by_position, dim=-1).float() if by_position else None


@contextmanager
def _noting_gates(attention: Any) -> Iterator[list[dict[str, Tensor]]]:
    """Collects the gates of every step of ``attention`` during the block."""
    noted: list[dict[str, Tensor]] = []
    if not isinstance(attention, Attention):
        yield noted
        return
    step = attention.step

    def noting(query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        context, weights, following = step(query, prepared, state)
        noted.append(attention.gates(query, prepared, state, weights))
        return context, weights, following

    attention.step = noting  # type: ignore[method-assign]
    try:
        yield noted
    finally:
        del attention.step
