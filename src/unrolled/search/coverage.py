"""The coverage penalty of Wu et al. 2016 (Google's Neural Machine Translation System, eq. 14).

N rows, S source length.
"""

from typing import Any, Protocol

import torch
from torch import Tensor

from unrolled.models.state import PerSentence
from unrolled.search.generator import Generator, device_of


class Attending(Generator, Protocol):
    """A generator that reports its attention weights."""

    def attend(self, tokens: Tensor, state: Any, /) -> tuple[Tensor, Tensor, Any]:
        """``step``, and the attention weights ``(N, S)``."""
        ...


class Covered:
    """A generator that remembers how much attention each source position has received."""

    def __init__(self, generator: Attending, beta: float) -> None:
        self.members = (generator,)
        self.beta = beta

    def start(self, batch: Any) -> tuple[Any, Tensor, PerSentence]:
        """(the generator's state, attention so far ``(B, S)``, which positions are real ``(B, S)``)."""
        state = self.members[0].start(batch)
        lengths = batch.source_lengths.to(device_of(state))
        valid = torch.arange(int(lengths.max()), device=lengths.device) < lengths.unsqueeze(1)
        return state, torch.zeros(valid.shape, device=lengths.device), PerSentence((valid,))

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The generator's step."""
        inner, attention, valid = state
        log_probs, weights, inner = self.members[0].attend(tokens, inner)
        return log_probs, (inner, attention + weights.float(), valid)

    def penalty(self, state: Any) -> Tensor:
        """cp = beta sum_j log(min(sum_i alpha_ij, 1)) of every row ``(N,)``: 0 or less, never minus infinity."""
        _, attention, (valid,) = state
        terms = attention.clamp(torch.finfo(attention.dtype).tiny, 1).log().unflatten(0, (len(valid), -1))
        return self.beta * terms.masked_fill(~valid.unsqueeze(1), 0).sum(dim=2).flatten()
