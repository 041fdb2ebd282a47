"""Perplexity of a corpus from sums: exp(-sum log p / number of tokens), natural logarithms, </s> counted."""

import math
from dataclasses import dataclass


@dataclass
class LogLikelihood:
    """The summed ``negative_log_likelihood`` (nats) of ``tokens`` tokens. ``add`` merges batches and ranks."""

    negative_log_likelihood: float = 0.0
    tokens: int = 0

    def add(self, negative_log_likelihood: float, tokens: int) -> None:
        """Add the sums of a batch or rank, never its mean."""
        self.negative_log_likelihood += negative_log_likelihood
        self.tokens += tokens

    @property
    def loss(self) -> float:
        """Nats per token; NaN without tokens."""
        return self.negative_log_likelihood / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        """exp(loss); infinite if that exceeds a float."""
        try:
            return math.exp(self.loss)
        except OverflowError:
            return math.inf
