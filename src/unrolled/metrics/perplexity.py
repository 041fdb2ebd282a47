"""Log-likelihoods as sums and counts, divided once."""

import math


class LogLikelihood:
    """The sum of -log p (nats) over ``tokens`` tokens."""

    def __init__(self) -> None:
        self.negative_log_likelihood = 0.0
        self.tokens = 0

    def add(self, negative_log_likelihood: float, tokens: int) -> None:
        """Add a batch's, or another rank's, sums."""
        self.negative_log_likelihood += negative_log_likelihood
        self.tokens += tokens

    @property
    def loss(self) -> float:
        """Mean -log p of a token, in nats; NaN without tokens."""
        return self.negative_log_likelihood / self.tokens if self.tokens else math.nan

    @property
    def perplexity(self) -> float:
        """exp(loss); infinite where that is too large for a float."""
        try:
            return math.exp(self.loss)
        except OverflowError:
            return math.inf
