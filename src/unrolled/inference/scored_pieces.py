"""Sentences as pieces with log-probabilities."""

from collections.abc import Iterable

from unrolled.metrics.perplexity import LogLikelihood

Pieces = list[tuple[str, float]]


"""The pieces of a sentence, </s> last, each with its natural log-probability."""


def total(scored: Iterable[Pieces]) -> LogLikelihood:
    """The log-likelihood of all sentences, summed over tokens with </s>."""
    likelihood = LogLikelihood()
    for pieces in scored:
        likelihood.add(-sum(log_p for _, log_p in pieces), len(pieces))
    return likelihood
