"""Greedy and beam search, batched over sentences and hypotheses.

Letters: B sentences, L of them still searched, K hypotheses of each (the beam), N rows of a generator's state,
V vocabulary.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Protocol

import torch
from torch import Tensor

from unrolled.errors import UserError
from unrolled.models.state import PerSentence
from unrolled.search.inference import inference
from unrolled.search.length import PerToken

Nested = Any
"""A tensor whose first dimension is the batch, or a tuple of such nested structures, perhaps empty."""
Score = Callable[[Tensor, Tensor], Tensor]
"""(log-probabilities, lengths with </s>) -> scores; see ``unrolled.search.length``."""


class Generator(Protocol):
    """Anything that generates word by word."""

    def start(self, batch: Any, /) -> Nested:
        """The state before the first word, a row for each sentence of ``batch``."""
        ...

    def step(self, tokens: Tensor, state: Any, /) -> tuple[Tensor, Nested]:
        """Previous words ``(N,)`` -> log-probabilities of the next ``(N, V)``, following state."""
        ...


class SourceBatch(Protocol):
    """What the limits on the length of translations need of a batch."""

    @property
    def source_lengths(self) -> Any:
        """``(B,)``, on any device."""
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One output: ``tokens`` without <s> and </s>.

    ``score`` is the normalised ``log_probability``; the latter includes </s> if the hypothesis is ``finished`` by it.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool


def select(state: Nested, index: Tensor, sentences: Tensor | None = None) -> Nested:
    """The rows ``index (M,)`` of every tensor ``(N, ...)`` in ``state``: each ``(M, ...)``.

    Of parts with one row a sentence those of the ``sentences (L,)``, which rise: as many as there are means all.
    """
    if isinstance(state, Tensor):
        return state if index is sentences and len(index) == len(state) else state.index_select(0, index)
    if sentences is not None and isinstance(state, PerSentence):
        index = sentences
    return type(state)(select(part, index, sentences) for part in state)


@inference
def greedy(
    generator: Generator,
    batch: Any,
    *,
    max_lengths: Tensor,
    min_lengths: Tensor | None = None,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> list[Hypothesis]:
    """The likeliest word at every step: one hypothesis a sentence, whose ``score`` is its log-probability.

    ``max_lengths (B,)``, integers on the CPU: the most tokens a hypothesis may have, with </s>; ``min_lengths``: the
    fewest. <s> and padding are never generated. Of equally likely words the lower id wins.
    """
    state = generator.start(batch)
    limits = max_lengths.to(device_of(state), torch.int64)
    least = limits.new_zeros(limits.shape) if min_lengths is None else min_lengths.to(limits).minimum(limits)
    words = limits.new_full((len(limits), int(max(max_lengths.tolist(), default=0))), pad)
    log_probability = torch.zeros(len(limits), device=limits.device)
    finished = torch.zeros_like(limits, dtype=torch.bool)

    live = (limits > 0).nonzero().squeeze(1)  # (L,) the sentences still searched
    state, tokens, length = select(state, live), torch.full_like(live, bos), 0
    while len(live):
        log_probs, state = generator.step(tokens, state)
        length += 1
        following, candidates = _likeliest(log_probs, 1, never=(bos, pad), later=eos, early=least[live] > length)
        log_p, place = following.max(dim=1)
        tokens = candidates.gather(1, place.unsqueeze(1)).squeeze(1)
        words[live, length - 1] = tokens
        log_probability[live] += log_p
        finished[live] = tokens == eos

        going_on = (tokens != eos) & (limits[live] > length)
        if not going_on.all():
            kept = going_on.nonzero().squeeze(1)
            state, tokens, live = select(state, kept), tokens[kept], live[kept]

    return [
        Hypothesis([word for word in row if word not in (eos, pad)], log_p, log_p, ended)
        if isfinite(log_p)
        else Hypothesis([], -inf, -inf, finished=False)
        for row, log_p, ended in zip(words.tolist(), log_probability.tolist(), finished.tolist(), strict=True)
    ]


@inference
def beam_search(
    generator: Generator,
    batch: Any,
    *,
    beam_size: int,
    max_lengths: Tensor,
    score: Score,
    min_lengths: Tensor | None = None,
    nbest: int = 1,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> list[list[Hypothesis]]:
    """The ``nbest`` best hypotheses of every sentence that a beam of ``beam_size`` finds, best first, all different.

    Every step keeps the ``beam_size`` likeliest continuations of a sentence; those that end in </s> are finished, the
    others go on. A sentence leaves the batch as soon as no hypothesis that goes on can still beat the ``nbest``-th best
    of the finished ones, so that leaving early loses nothing.

    ``max_lengths (B,)``, integers on the CPU: the most tokens a hypothesis may have, with </s>; ``min_lengths``: the
    fewest. One that is as long as it may be and has no </s> is unfinished and comes after all finished ones. A sentence
    has one hypothesis at least, if only the empty one. <s> and padding are never generated. Of equally likely
    continuations those of the better hypothesis win, then likelier words, then those of the lower id.
    """
    state = generator.start(batch)
    limits = max_lengths.to(device_of(state), torch.int64)
    least = limits.new_zeros(limits.shape) if min_lengths is None else min_lengths.to(limits).minimum(limits)
    found: list[list[Hypothesis]] = [[] for _ in max_lengths]

    live = (limits > 0).nonzero().squeeze(1)  # (L,) the sentences still searched
    log_probability = torch.zeros(len(live), 1, device=limits.device)  # (L, K), -inf where there is no hypothesis
    words = limits.new_zeros(len(live), 1, 0)  # (L, K, length)
    best_scores = torch.full((len(live), nbest), -inf, device=limits.device)  # of finished hypotheses, falling
    state, tokens = select(state, live), torch.full_like(live, bos)
    while len(live):
        log_probs, state = generator.step(tokens, state)
        width = log_probability.shape[1]
        early = (least[live] > words.shape[2] + 1).repeat_interleave(width)
        following, candidates = _likeliest(log_probs, beam_size, never=(bos, pad), later=eos, early=early)
        continuations = (log_probability.unsqueeze(2) + following.unflatten(0, (-1, width))).flatten(1)
        log_probability, index = _best(continuations, beam_size)
        parent, word = index // following.shape[1], candidates.reshape(len(live), -1).gather(1, index)
        words = torch.cat([_reorder(words, parent), word.unsqueeze(2)], dim=2)
        length = limits.new_tensor(words.shape[2])

        exists, at_limit = log_probability.isfinite(), limits[live] <= length
        finished = exists & (word == eos)
        scores = score(log_probability, length)
        leaving = finished | (exists & at_limit.unsqueeze(1))
        for sentence, hypothesis in _harvest(live, words, scores, log_probability, finished, leaving):
            found[sentence].append(hypothesis)

        # log p only falls, so that what goes on can get at most today's log p at the greatest length
        log_probability = log_probability.masked_fill(finished | ~exists, -inf)
        best_scores = torch.cat([best_scores, scores.masked_fill(~finished, -inf)], dim=1).topk(nbest).values
        attainable = score(log_probability.amax(dim=1), limits[live])
        kept = (~at_limit & (attainable > best_scores[:, -1])).nonzero().squeeze(1)

        state = select(state, (kept.unsqueeze(1) * width + parent[kept]).flatten(), kept)
        tokens, live, words = word[kept].flatten(), live[kept], words[kept]
        log_probability, best_scores = log_probability[kept], best_scores[kept]

    return [
        sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))[:nbest]
        or [Hypothesis([], -inf, -inf, finished=False) if limit else Hypothesis([], 0.0, 0.0, finished=False)]
        for hypotheses, limit in zip(found, max_lengths.tolist(), strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Greedy search as a setting; lengths are in tokens and count </s>, the source's too.

    Translations have at most ``max_length_ratio`` x source length + ``max_length_extra`` tokens, and at least
    ``min_length_ratio`` x source length.
    """

    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    min_length_ratio: float = 0.0
    bos: int = 1
    eos: int = 2
    pad: int = 0

    def __post_init__(self) -> None:
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)

    def __call__(self, generator: Generator, batch: SourceBatch) -> list[Hypothesis]:
        """One hypothesis for every sentence of ``batch``, in its order."""
        return greedy(
            generator,
            batch,
            max_lengths=length_limits(batch, self.max_length_ratio, self.max_length_extra),
            min_lengths=length_limits(batch, self.min_length_ratio, 0),
            bos=self.bos,
            eos=self.eos,
            pad=self.pad,
        )


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """Beam search as a setting; limits on lengths as in ``Greedy``."""

    beam_size: int = 5
    length_normalization: Score = field(default_factory=PerToken)
    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    min_length_ratio: float = 0.0
    bos: int = 1
    eos: int = 2
    pad: int = 0

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise UserError(f"search.beam_size={self.beam_size}: it must be 1 or more")
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)

    def __call__(self, generator: Generator, batch: SourceBatch) -> list[Hypothesis]:
        """The best hypothesis for every sentence of ``batch``, in its order."""
        return [hypotheses[0] for hypotheses in self.nbest(generator, batch, 1)]

    def nbest(self, generator: Generator, batch: SourceBatch, count: int) -> list[list[Hypothesis]]:
        """The ``count`` best of every sentence, best first; fewer where the beam finds fewer."""
        return beam_search(
            generator,
            batch,
            beam_size=self.beam_size,
            max_lengths=length_limits(batch, self.max_length_ratio, self.max_length_extra),
            min_lengths=length_limits(batch, self.min_length_ratio, 0),
            score=self.length_normalization,
            nbest=count,
            bos=self.bos,
            eos=self.eos,
            pad=self.pad,
        )


def device_of(state: Nested) -> torch.device | None:
    """Where the first tensor of ``state`` is; None if it holds none."""
    if isinstance(state, Tensor):
        return state.device
    return next((device for part in state if (device := device_of(part))), None)


def _likeliest(
    log_probs: Tensor, count: int, *, never: tuple[int, int], later: int, early: Tensor
) -> tuple[Tensor, Tensor]:
    """The ``count`` likeliest words of each row of ``(N, V)``, and a few more: log p in float32, and word, ``(N, M)``.

    log p is -inf for the words that ``never`` come, and for ``later`` in the rows that are still too ``early (N,)``.
    """
    log_p, word = _best(log_probs, min(count + len(never) + 1, log_probs.shape[1]))
    out = (word == never[0]) | (word == never[1]) | ((word == later) & early.unsqueeze(1))
    return log_p.float().masked_fill(out, -inf), word


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` greatest of each row, or all if there are fewer, and their places; equals by rising place.

    ``topk`` alone leaves open which of equal values it takes, and in which order.
    """
    width = values.shape[1]
    greatest, index = values.topk(min(count + 1, width))  # one more than asked shows equals on the border
    index = index[:, :count].sort(dim=1).values
    if count < width:
        border = greatest[:, count - 1 : count]
        tied = (border == greatest[:, count:]).squeeze(1) & border.squeeze(1).isfinite()
        if tied.any():
            above, level = values[tied] > border[tied], values[tied] == border[tied]
            first = level.cumsum(dim=1) <= count - above.sum(dim=1, keepdim=True)
            index[tied] = (above | (level & first)).nonzero()[:, 1].view(-1, count)
    greatest, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return greatest, index.gather(1, order)


def _reorder(words: Tensor, parent: Tensor) -> Tensor:
    """``words (L, K', length)`` of each hypothesis's ``parent (L, K)``: ``(L, K, length)``."""
    return words.gather(1, parent.unsqueeze(2).expand(-1, -1, words.shape[2]))


def _harvest(
    live: Tensor, words: Tensor, scores: Tensor, log_probability: Tensor, finished: Tensor, leaving: Tensor
) -> Iterator[tuple[int, Hypothesis]]:
    """(sentence, hypothesis) where ``leaving (L, K)``, by sentence and falling log p."""
    rows = live[leaving.nonzero()[:, 0]].tolist()
    parts = (part[leaving].tolist() for part in (words, scores, log_probability, finished))
    for row, tokens, score, log_p, ended in zip(rows, *parts, strict=True):
        yield row, Hypothesis(tokens[:-1] if ended else tokens, score, log_p, ended)


def length_limits(batch: SourceBatch, ratio: float, extra: int) -> Tensor:
    """``ratio`` x source length + ``extra``, ``(B,)`` on the CPU."""
    limits: Tensor = (batch.source_lengths.cpu() * ratio).long() + extra
    return limits


def check_limits(ratio: float, extra: int, least: float = 0.0) -> None:
    """UserError where one of the settings on lengths is none."""
    if not ratio >= 0:
        raise UserError(f"search.max_length_ratio={ratio}: it must be 0 or more")
    if not 0 <= least <= ratio:
        raise UserError(f"search.min_length_ratio={least}: it must be from 0 to max_length_ratio={ratio}")
    if extra < 0:
        raise UserError(f"search.max_length_extra={extra}: it must be 0 or more")
