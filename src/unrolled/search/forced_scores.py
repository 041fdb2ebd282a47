"""Exact scores of hypotheses, by forced decoding, after a search among few words or with rounded weights."""

from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from torch import nn

from unrolled.search.beam import Score
from unrolled.search.forced import score_words
from unrolled.search.generator import Generator, Hypothesis
from unrolled.text.tokens import BOS, EOS, PAD

Lists = list[list[Hypothesis]]


def with_forced_scores(generator: Generator, batch: Any, lists: Lists, score: Score) -> Lists:
    """``lists`` of hypotheses with the log-probabilities that ``generator`` gives them, best first.

    One list for each sentence of ``batch``. ``score``: how the search scored a log-probability and a length; a penalty
    in its scores is kept.
    """
    most = max(map(len, lists), default=0)
    of_ranks = [
        _of_one(generator, batch, [hypotheses[rank : rank + 1] for hypotheses in lists], score) for rank in range(most)
    ]
    return [
        sorted(chain.from_iterable(hypotheses), key=lambda h: (not h.finished, -h.score))
        for hypotheses in zip(*of_ranks, strict=True)
    ] or lists


def _of_one(generator: Generator, batch: Any, lists: Lists, score: Score) -> Lists:
    """The same for lists of one hypothesis or none."""
    device = getattr(batch, "members", (batch,))[0].source.device
    rows = [torch.tensor([BOS, *(hypotheses[0].tokens if hypotheses else []), EOS]) for hypotheses in lists]
    target = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
    every = score_words(generator, batch, target, torch.tensor([len(row) for row in rows]))
    return [
        [_rescored(h, log_probs, score) for h in hypotheses] for hypotheses, log_probs in zip(lists, every, strict=True)
    ]


def _rescored(h: Hypothesis, log_probs: list[float], score: Score) -> Hypothesis:
    if not h.tokens and not h.finished:
        return h  # nothing was found
    log_p = sum(log_probs if h.finished else log_probs[:-1])
    length = torch.tensor(len(h.tokens) + h.finished)
    before, after = (float(score(torch.tensor(p), length)) for p in (h.log_probability, log_p))
    return replace(h, score=h.score - before + after, log_probability=log_p)
