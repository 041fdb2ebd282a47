"""Several generators with one vocabulary as one. N rows, V vocabulary, M members."""

from collections.abc import Callable, Sequence
from math import log
from typing import Any

import torch
from torch import Tensor

Mean = Callable[[Tensor], Tensor]
"""Log-probabilities of all members ``(M, N, V)`` -> of the ensemble ``(N, V)``."""


def geometric_mean(log_probs: Tensor) -> Tensor:
    """p proportional to (prod_m p_m)^(1/M): the mean of log-probabilities, renormalised."""
    return torch.log_softmax(log_probs.mean(dim=0), dim=-1)


def arithmetic_mean(log_probs: Tensor) -> Tensor:
    """p = 1/M sum_m p_m."""
    return torch.logsumexp(log_probs, dim=0) - log(len(log_probs))


class Ensemble:
    """Generators, such as translators with any decoder and attention, whose next-word probabilities are averaged."""

    def __init__(self, members: Sequence[Any], mean: Mean) -> None:
        self.members: tuple[Any, ...] = tuple(members)
        self.mean = mean

    def start(self, batch: Any) -> tuple[Any, ...]:
        """The states of all members; ``batch.members`` are the same sentences, in each member's own ids."""
        return tuple(member.start(ids) for member, ids in zip(self.members, batch.members, strict=True))

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Previous words ``(N,)`` -> log-probabilities ``(N, V)``, next states."""
        steps = [member.step(tokens, inner) for member, inner in zip(self.members, state, strict=True)]
        log_probs, states = zip(*steps, strict=True)
        return self.mean(torch.stack(log_probs)), states

    def attend(self, tokens: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        """The same with the mean of the members' attention weights ``(N, S)``, for members that read the same ids."""
        steps = [member.attend(tokens, inner) for member, inner in zip(self.members, state, strict=True)]
        log_probs, weights, states = zip(*steps, strict=True)
        return self.mean(torch.stack(log_probs)), torch.stack(weights).mean(dim=0), states
