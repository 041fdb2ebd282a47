"""Attention whose memory is tampered with while a trained model is used, to see what the model needs it for.

The contract and the letters are those of `attention.py`; X is the size of a position's memory. Each class wraps any
attention with a memory: instead of v_{i-1}, which it returned in the previous step, the wrapped attention reads
something else, and computes the next v from that.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import UserError
from unrolled.models.attention import Attention, Nested
from unrolled.models.state import is_by_position, map_state, tensors_of
from unrolled.models.translator import Translator
from unrolled.text.tokens import EOS

POSITIONS = 23
"""The length of a sentence that shows which tensors of a memory are by position."""
SEED = 1
"""Seed of the permutations."""


class Ablated(nn.Module):
    """Wraps an ``attention``, with the same contract. Only for trained models, so it is no choice of attention=."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """As the attention."""
        return self.attention.prepare(annotations, valid)

    def start(self, prepared: Nested) -> Nested:
        """As the attention."""
        return self.attention.start(prepared)

    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """``(N, Q)`` -> context ``(N, C)``, weights ``(N, S)``, the next state."""
        raise NotImplementedError

    def kernel(self, prepared: Nested, state: Nested) -> None:
        """None: the fast backward passes do not support ablations."""

    def gates(self, query: Tensor, prepared: Nested, state: Nested, weights: Tensor) -> dict[str, Tensor]:
        """Not available."""
        return {}


class ZeroMemory(Ablated):
    """Step i reads 0."""

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """The state is what the attention returned, and not read."""
        return self.attention.step(query, prepared, map_state(torch.zeros_like, state))


class FrozenMemory(Ablated):
    """Step i reads v_1, which the first step returned; the first step reads v_0."""

    def start(self, prepared: Nested) -> Nested:
        """v_0, and whether the first step is done ``(B,)``: no."""
        memory = self.attention.start(prepared)
        first = next(tensors_of(memory))
        return (*memory, first.new_zeros(len(first), dtype=torch.bool))

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """The state is v_1, or v_0 before it, and whether the first step is done ``(N,)``."""
        *memory, done = state
        context, weights, following = self.attention.step(query, prepared, tuple(memory))
        return context, weights, (*_chosen(done, tuple(memory), following), torch.ones_like(done))


class ShuffledMemory(Ablated):
    """Step i reads at position j what belongs to another position: v_{i-1, p(j)}.

    p runs through all real positions of the sentence in one cycle, so that none keeps its own; it depends on their
    number alone, and is the same at every step. Padding, and a memory that belongs to no position, stay as they are.
    """

    def prepare(self, annotations: Tensor, valid: Tensor) -> Nested:
        """What the attention prepares, and p ``(B, S)``."""
        return (self.attention.prepare(annotations, valid), cycles(valid))

    def start(self, prepared: Nested) -> Nested:
        """As the attention."""
        return self.attention.start(prepared[0])

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """The state is what the attention returned."""
        inner, cycle = prepared
        cycle = cycle.repeat_interleave(len(query) // len(cycle), dim=0)  # (N, S)

        def exchanged(v: Tensor) -> Tensor:
            return v.take_along_dim(cycle.unsqueeze(2), 1) if is_by_position(v, cycle.shape[1]) else v

        return self.attention.step(query, inner, map_state(exchanged, state))


class LaggingMemory(Ablated):
    """Step i reads v_{i-2}, one step late; the first two steps read v_0."""

    def start(self, prepared: Nested) -> Nested:
        """v_0 twice."""
        memory = self.attention.start(prepared)
        return (*memory, *memory)

    @override
    def step(self, query: Tensor, prepared: Nested, state: Nested) -> tuple[Tensor, Tensor, Nested]:
        """The state is v_{i-2}, v_{i-1}."""
        half = len(state) // 2
        context, weights, following = self.attention.step(query, prepared, state[:half])
        return context, weights, (*state[half:], *following)


ABLATIONS: dict[str, type[Ablated]] = {
    "zero": ZeroMemory,
    "freeze": FrozenMemory,
    "shuffle": ShuffledMemory,
    "lag": LaggingMemory,
}


@contextmanager
def ablated(models: Iterable[Translator], memory: str) -> Iterator[None]:
    """In this context each model's attention reads its memory through ``memory``, a key of `ABLATIONS`."""
    changed: list[tuple[Any, Attention]] = []
    try:
        for model in dict.fromkeys(models):  # one that is there twice reads its memory through one of them
            attention = model.attention
            assert attention is not None, "see check_memory"
            decoder: Any = model.decoder
            changed.append((decoder, attention))
            decoder.attention = ABLATIONS[memory](attention).train(attention.training)
        yield
    finally:
        for decoder, attention in reversed(changed):  # a decoder of two models ends as it began
            decoder.attention = attention


NO_VECTORS = "this attention's memory is not a vector for each source position, (N, S, X)"


@torch.no_grad()
def check_memory(model: Translator, option: str) -> bool:
    """Whether the memory of ``model``'s attention belongs to source positions, at least in part.

    UserError: it has none; the message names the ``option`` that needs one.
    """
    source = torch.tensor([[EOS] * POSITIONS], device=model.source_embedding.weight.device)
    start = model.decoder.start(*model.encode(source, torch.tensor([POSITIONS])))
    tensors = list(tensors_of(model.decoder.memory(start)))
    if model.attention is None or not tensors:
        name = "no attention" if model.attention is None else f"{type(model.attention).__name__}, without a memory"
        raise UserError(
            f"{option}: this run has {name}: name a run whose attention carries a memory from step to step, such as "
            "attention=gru_att"
        )
    return any(is_by_position(tensor, POSITIONS) for tensor in tensors)


def cycles(valid: Tensor) -> Tensor:
    """For bool ``(B, S)``, p ``(B, S)`` of each sentence: its real positions in one cycle, padding in its place."""
    places = torch.arange(valid.shape[1], device=valid.device).repeat(len(valid), 1)
    for row, real in zip(places, valid, strict=True):
        positions = real.nonzero().squeeze(1)
        drawn = torch.randperm(len(positions), generator=torch.Generator().manual_seed(SEED)).to(valid.device)
        row[positions[drawn]] = positions[drawn.roll(1)]
    return places


def _chosen(done: Tensor, old: Any, new: Any) -> Any:
    """The rows of the tensors of ``old`` where ``done (N,)``, else those of ``new``."""
    if isinstance(old, Tensor):
        return torch.where(done.reshape(-1, *[1] * (old.dim() - 1)), old, new)
    return tuple(_chosen(done, before, after) for before, after in zip(old, new, strict=True))
