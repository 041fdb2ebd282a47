"""Perplexity of a corpus from sums: exp(-sum log p / number of tokens), natural logarithms, </s> counted."""

import math
from dataclasses import dataclass


@dataclass
class LogLikelihood:
    """The summed ``negative_log_likelihood`` (nats) of ``tokens`` tokens. Batches and ranks are merged by ``add``."""

    negative_log_likelihood: float = 0.0
    tokens: int = 0

    def add(self, negative_log_likelihood: float, tokens: int) -> None:
        """Add a part's sums, never its mean."""
        self.negative_log_likelihood += negative_log_likelihood
        self.tokens += tokens

    @property
    def loss(self) -> float:
        """Nats a token; NaN without tokens."""
        return self.negative_log_likelihood / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        """exp(loss); infinite where that is beyond a float."""
        try:
            return math.exp(self.loss)
        except OverflowError:
            return math.inf
