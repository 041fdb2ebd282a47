"""Greedy and beam search, batched over sentences and hypotheses.

Letters: B sentences, L of them still active, K hypotheses of each (the beam), N rows of a generator's state,
V vocabulary.
"""

from collections.abc import Callable, Iterator
from math import inf, isfinite
from typing import Any

import torch
from torch import Tensor

from unrolled.models.fast.hoisted import hoisted
from unrolled.models.fast.siblings import siblings
from unrolled.search.frozen_weights import inference, models
from unrolled.search.generator import Generator, Hypothesis, device_of, select
from unrolled.text.tokens import BOS, EOS, PAD

Score = Callable[[Tensor, Tensor], Tensor]
"""(log-probabilities, lengths with </s>) -> scores; see ``unrolled.search.length``."""
Penalty = Callable[[Any], Tensor]
"""State after a step -> what is added to the score of every row ``(N,)``, at most 0; see ``search.coverage``."""
GROUP = 32
"""Neighbouring words in a group; the maximum of each group is found first."""


@inference
def greedy(
    generator: Generator,
    batch: Any,
    *,
    max_lengths: Tensor,
    min_lengths: Tensor | None = None,
) -> list[Hypothesis]:
    """The most likely word at every step: one hypothesis per sentence, whose ``score`` is its log-probability.

    ``max_lengths (B,)``, integers on the CPU: the most tokens a hypothesis may have, with </s>; ``min_lengths``: the
    fewest. <s> and padding are never generated. Among equally likely words the lowest id wins.
    """
    state = generator.start(batch)
    limits = max_lengths.to(device_of(state), torch.int64)
    least = limits.new_zeros(limits.shape) if min_lengths is None else min_lengths.to(limits).minimum(limits)
    words = limits.new_full((len(limits), int(max(max_lengths.tolist(), default=0))), PAD)
    log_probability = torch.zeros(len(limits), device=limits.device)
    finished = torch.zeros_like(limits, dtype=torch.bool)

    live = (limits > 0).nonzero().squeeze(1)  # (L,) the sentences still active
    state, tokens, length = select(state, live), torch.full_like(live, BOS), 0
    while len(live):
        log_probs, state = generator.step(tokens, state)
        length += 1
        following, candidates = _likeliest(log_probs, 1, never=(BOS, PAD), later=EOS, early=least[live] > length)
        log_p, place = following.max(dim=1)
        tokens = candidates.gather(1, place.unsqueeze(1)).squeeze(1)
        words[live, length - 1] = tokens
        log_probability[live] += log_p
        finished[live] = tokens == EOS

        unfinished = (tokens != EOS) & (limits[live] > length)
        if not unfinished.all():
            kept = unfinished.nonzero().squeeze(1)
            state, tokens, live = select(state, kept), tokens[kept], live[kept]

    return [
        Hypothesis([word for word in row if word not in (EOS, PAD)], log_p, log_p, ended)
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
    penalty: Penalty | None = None,
    min_lengths: Tensor | None = None,
    nbest: int = 1,
) -> list[list[Hypothesis]]:
    """The ``nbest`` best hypotheses of every sentence that a beam of ``beam_size`` finds, best first, all different.

    Every step keeps the ``beam_size`` most likely continuations of a sentence; those that end in </s> are finished, the
    others continue. A sentence leaves the batch as soon as no unfinished hypothesis can still beat the ``nbest``-th
    best finished one, so stopping early loses nothing.

    ``max_lengths (B,)``, integers on the CPU: the most tokens a hypothesis may have, with </s>; ``min_lengths``: the
    fewest. A hypothesis that reaches its maximum without </s> is unfinished and ranks after all finished ones. Every
    sentence has at least one hypothesis, possibly empty. <s> and padding are never generated. Among equally likely
    continuations those of the better hypothesis win, then more likely words, then lower ids.
    """
    with hoisted(models(generator), beam_size), siblings(models(generator)) as same:
        state = generator.start(batch)
        limits = max_lengths.to(device_of(state), torch.int64)
        least = limits.new_zeros(limits.shape) if min_lengths is None else min_lengths.to(limits).minimum(limits)
        harvest: list[list[Hypothesis]] = [[] for _ in max_lengths]

        live = (limits > 0).nonzero().squeeze(1)  # (L,) the sentences still active
        log_probability = torch.zeros(len(live), 1, device=limits.device)  # (L, K), -inf where there is no hypothesis
        words = limits.new_zeros(len(live), 1, 0)  # (L, K, length)
        best_scores = torch.full((len(live), nbest), -inf, device=limits.device)  # of finished hypotheses, descending
        state, tokens = select(state, live), torch.full_like(live, BOS)
        while len(live):
            log_probs, state = generator.step(tokens, state)
            width = log_probability.shape[1]
            early = (least[live] > words.shape[2] + 1).repeat_interleave(width)
            following, candidates = _likeliest(log_probs, beam_size, never=(BOS, PAD), later=EOS, early=early)
            continuations = (log_probability.unsqueeze(2) + following.unflatten(0, (-1, width))).flatten(1)
            log_probability, index = _best(continuations, beam_size)
            parent, word = index // following.shape[1], candidates.reshape(len(live), -1).gather(1, index)
            before = words.gather(1, parent.unsqueeze(2).expand(-1, -1, words.shape[2]))
            words = torch.cat([before, word.unsqueeze(2)], dim=2)
            length = limits.new_tensor(words.shape[2])

            exists, at_limit = log_probability.isfinite(), limits[live] <= length
            finished = exists & (word == EOS)
            scores = score(log_probability, length)
            if penalty is not None:
                scores = scores + penalty(state).unflatten(0, (-1, width)).gather(1, parent)
            leaving = finished | (exists & at_limit.unsqueeze(1))
            for sentence, hypothesis in _harvest(live, words, scores, log_probability, finished, leaving):
                harvest[sentence].append(hypothesis)

            # log p only falls, so an unfinished hypothesis scores at most its log p at the greatest length, no penalty
            log_probability = log_probability.masked_fill(finished | ~exists, -inf)
            best_scores = torch.cat([best_scores, scores.masked_fill(~finished, -inf)], dim=1).topk(nbest).values
            attainable = score(log_probability.amax(dim=1), limits[live])
            kept = (~at_limit & (attainable > best_scores[:, -1])).nonzero().squeeze(1)

            rows = (kept.unsqueeze(1) * width + parent[kept]).flatten()
            state = select(state, rows, kept)
            same.renew(rows, state)
            tokens, live, words = word[kept].flatten(), live[kept], words[kept]
            log_probability, best_scores = log_probability[kept], best_scores[kept]

    return [
        sorted(hypotheses, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))[:nbest]
        or [Hypothesis([], -inf, -inf, finished=False) if limit else Hypothesis([], 0.0, 0.0, finished=False)]
        for hypotheses, limit in zip(harvest, max_lengths.tolist(), strict=True)
    ]


def _likeliest(
    log_probs: Tensor, count: int, *, never: tuple[int, int], later: int, early: Tensor
) -> tuple[Tensor, Tensor]:
    """The ``count`` most likely words of each row of ``(N, V)``, and a few more: log p (float32) and word, ``(N, M)``.

    log p is -inf for the words in ``never``, and for the word ``later`` in rows where it is too ``early (N,)``.
    """
    log_p, word = _best(log_probs, min(count + len(never) + 1, log_probs.shape[1]))
    out = (word == never[0]) | (word == never[1]) | ((word == later) & early.unsqueeze(1))
    return log_p.float().masked_fill(out, -inf), word


def _best(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` greatest values of each row, or all if there are fewer, and their places; ties by ascending place.

    ``topk`` alone does not specify which of several equal values it takes, nor in which order.
    """
    width = values.shape[1]
    if width > 2 * GROUP * (count + 1):  # else most values would be in the best groups
        return _best_of_groups(values, count)
    greatest, index = values.topk(min(count + 1, width))  # one more than needed reveals a tie at the border
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


def _best_of_groups(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``_best`` for wide rows: the best values are in the ``count`` groups of neighbours with the greatest maxima.

    Any value outside these groups loses to ``count`` maxima, which are greater, or equal and at a lower place.
    """
    groups = values.shape[1] // GROUP
    grouped = values[:, : groups * GROUP].unflatten(1, (groups, GROUP))
    _, best = _best(grouped.amax(dim=2), count)
    neighbours, rest = torch.arange(GROUP, device=values.device), torch.arange(groups * GROUP, values.shape[1])
    places = (best.sort(dim=1).values.unsqueeze(2) * GROUP + neighbours).flatten(1)
    if len(rest):
        places = torch.cat([places, rest.to(places).expand(len(places), -1)], dim=1)
    greatest, index = _best(values.gather(1, places), count)
    return greatest, places.gather(1, index)


def _harvest(
    live: Tensor, words: Tensor, scores: Tensor, log_probability: Tensor, finished: Tensor, leaving: Tensor
) -> Iterator[tuple[int, Hypothesis]]:
    """(sentence, hypothesis) where ``leaving (L, K)``, by sentence and descending log p."""
    rows = live[leaving.nonzero()[:, 0]].tolist()
    facts = (tensor[leaving].tolist() for tensor in (words, scores, log_probability, finished))
    for row, tokens, score, log_p, ended in zip(rows, *facts, strict=True):
        yield row, Hypothesis(tokens[:-1] if ended else tokens, score, log_p, ended)
