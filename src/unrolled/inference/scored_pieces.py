"""Sentences in pieces, each piece with its log-probability."""

from collections.abc import Iterable

from unrolled.metrics.perplexity import LogLikelihood

Pieces = list[tuple[str, float]]


"""A sentence's pieces, </s> the last, each with its natural log-probability."""


def total(scored: Iterable[Pieces]) -> LogLikelihood:
    """The log-likelihood of all sentences, summed over tokens with </s>."""
    likelihood = LogLikelihood()
    for pieces in scored:
        likelihood.add(-sum(log_p for _, log_p in pieces), len(pieces))
    return likelihood
