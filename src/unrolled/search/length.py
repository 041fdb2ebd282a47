"""Length normalisation: the score of a hypothesis with log-probability ``log p`` and ``length`` tokens, counting </s>.

Each is a function of two tensors that broadcast against each other. Beam search relies on two properties: the score
never decreases when ``log p`` increases, and never decreases when the length increases with the same ``log p`` <= 0.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from unrolled.errors import WHOLE, Numbers, check

RATIOS = Numbers(least=0, most=10**6)
ROUNDING = 1e-9
"""More than the error of a ratio that has no exact binary form: 0.1 x 30 is a little more than 3."""
MOST = 10.0
"""The greatest power: beyond, the scores of long hypotheses are no longer numbers of 32 bits."""


@dataclass(frozen=True)
class NoNormalization:
    """score = log p."""

    def __call__(self, log_probability: Tensor, length: Tensor) -> Tensor:
        """Scores of the hypotheses."""
        return log_probability


@dataclass(frozen=True)
class PerToken:
    """score = log p / length^power; power 1 is the mean log-probability per token, as in dl4mt and Nematus."""

    power: float = 1.0

    def __post_init__(self) -> None:
        check("search.length_normalization.power", self.power, Numbers(least=0, most=MOST))

    def __call__(self, log_probability: Tensor, length: Tensor) -> Tensor:
        """Scores of the hypotheses."""
        return log_probability / length ** float(self.power)  # a whole power of whole numbers overflows


@dataclass(frozen=True)
class GNMT:
    """score = log p / lp, Wu et al. 2016 (Google's Neural Machine Translation System), eq. 14 without the coverage."""

    alpha: float = 0.6

    def __post_init__(self) -> None:
        check("search.length_normalization.alpha", self.alpha, Numbers(least=0, most=MOST))

    def __call__(self, log_probability: Tensor, length: Tensor) -> Tensor:
        """Scores of the hypotheses."""
        # lp(Y) = (5 + |Y|)^α / (5 + 1)^α
        return log_probability / ((5 + length) / 6) ** self.alpha


def length_limits(batch: Any, ratio: float, extra: int, least: float = 0.0) -> tuple[Tensor, Tensor]:
    """The least and the most tokens, each ``(B,)`` on the CPU, for ``batch`` with ``source_lengths (B,)``.

    least: ``least`` x source length, rounded up, but not more than the most: ``ratio`` x source length, rounded down, +
    ``extra``.
    """
    lengths = batch.source_lengths.cpu().double()
    most = (lengths * ratio + ROUNDING).floor().long() + extra
    return torch.minimum((lengths * least - ROUNDING).ceil().long(), most), most


def check_limits(ratio: float, extra: int, least: float = 0.0) -> None:
    """UserError for an invalid length setting."""
    check("search.max_length_ratio", ratio, RATIOS)
    check("search.min_length_ratio", least, Numbers(least=0, most=ratio))
    check("search.max_length_extra", extra, WHOLE)
