"""Sampling: words drawn from the model's distribution, sharpened or cut. N rows, V vocabulary."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import torch
from torch import Tensor

from unrolled.errors import POSITIVE_WHOLE, Numbers, UserError, check
from unrolled.search.frozen_weights import inference
from unrolled.search.generator import Generator, Hypothesis, device_of, select
from unrolled.search.length import check_limits, length_limits
from unrolled.text.tokens import BOS, EOS, PAD

TEMPERATURES = Numbers(least=1e-4, most=1e4, instead="give search.top_k=1, which is its limit at 0")
"""Log-probabilities over a temperature have a soft-max within the range of float32."""


def sharpen(log_probs: Tensor, *, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """Log-probabilities ``(N, V)`` to draw from, -inf for excluded words, renormalised.

    p^(1/temperature); then the ``top_k`` most likely words; then the smallest set of most likely words that together
    have at least ``top_p`` of the remaining probability (Holtzman et al. 2020).
    """
    log_probs = torch.log_softmax(log_probs / temperature, dim=-1)
    if top_k is not None and top_k < log_probs.shape[1]:
        ranks = log_probs.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        log_probs = torch.log_softmax(log_probs.masked_fill(ranks >= top_k, -inf), dim=-1)
    if top_p is not None:
        falling, order = log_probs.sort(dim=1, descending=True, stable=True)
        before = falling.exp().cumsum(dim=1) - falling.exp()  # the probability of all likelier words
        out = (before >= top_p).scatter(1, order, before >= top_p)
        log_probs = torch.log_softmax(log_probs.masked_fill(out, -inf), dim=-1)
    return log_probs


@inference
def sample(
    generator: Generator,
    batch: object,
    *,
    max_lengths: Tensor,
    random: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> list[Hypothesis]:
    """One drawn hypothesis per sentence; its ``score`` is its log-probability under the model itself.

    ``max_lengths (B,)``, on the CPU: the most tokens with </s>. <s> and padding are never drawn. ``random`` is on the
    CPU, so that a seed draws the same on any device.
    """
    state = generator.start(batch)
    limits = max_lengths.to(device_of(state), torch.int64)
    words: list[list[int]] = [[] for _ in limits]
    total = [0.0] * len(limits)
    finished = [False] * len(limits)

    live = (limits > 0).nonzero().squeeze(1)  # (N,) the sentences still active
    state, tokens = select(state, live), torch.full_like(live, BOS)
    while len(live):
        log_probs, state = generator.step(tokens, state)
        allowed = log_probs.float().index_fill(1, tokens.new_tensor([BOS, PAD]), -inf)
        drawn_from = sharpen(allowed, temperature=temperature, top_k=top_k, top_p=top_p)
        probabilities = drawn_from.exp().cpu()
        if not probabilities.isfinite().all():
            raise UserError("the model's probabilities are not numbers: its weights are damaged, or it diverged")
        drawn = torch.multinomial(probabilities, 1, generator=random).to(tokens.device)
        tokens = drawn.squeeze(1)
        log_p = log_probs.gather(1, drawn).squeeze(1)
        for sentence, token, value in zip(live.tolist(), tokens.tolist(), log_p.tolist(), strict=True):
            total[sentence] += value
            words[sentence].append(token)
            finished[sentence] = token == EOS
        lengths = limits.new_tensor([len(words[sentence]) for sentence in live.tolist()])
        kept = ((tokens != EOS) & (limits[live] > lengths)).nonzero().squeeze(1)
        state, tokens, live = select(state, kept), tokens[kept], live[kept]

    return [
        Hypothesis(row[:-1] if ended else row, log_p, log_p, ended)
        for row, log_p, ended in zip(words, total, finished, strict=True)
    ]


@dataclass(kw_only=True)
class Sampling:
    """Sampling as a setting: outputs of at most ``ratio`` x source length + ``extra`` tokens."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 1
    max_length_ratio: float = 2.0
    max_length_extra: int = 10

    def __post_init__(self) -> None:
        check("search.temperature", self.temperature, TEMPERATURES)
        check("search.top_k", self.top_k, replace(POSITIVE_WHOLE, also=(None,)))
        check("search.top_p", self.top_p, Numbers(above=0, most=1, also=(None,)))
        check("search.seed", self.seed, Numbers(least=0, most=2**64 - 1, whole=True))
        check_limits(self.max_length_ratio, self.max_length_extra)
        self.weights = "float"
        self._random = torch.Generator().manual_seed(self.seed)

    def __call__(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        """One hypothesis for every sentence of ``batch``; the next call draws further random numbers."""
        _, most = length_limits(batch, self.max_length_ratio, self.max_length_extra)
        return self.draw(generator, batch, most)

    def draw(self, generator: Generator, batch: object, max_lengths: Tensor) -> list[Hypothesis]:
        """The same with at most ``max_lengths (B,)`` tokens, counting </s>."""
        return sample(
            generator,
            batch,
            max_lengths=max_lengths,
            random=self._random,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
        )
