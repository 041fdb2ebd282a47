"""A mixture of language models and its weights: p(w | h) = sum_m lambda_m p_m(w | h).

The weights that give a held-out text the greatest likelihood are found by expectation maximisation (Jelinek & Mercer
1980, "Interpolated estimation of Markov source parameters from sparse data"). Letters: M models, N tokens.
"""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.errors import UserError

Array = NDArray[Any]
log = logging.getLogger(__name__)

GAP = 1e-7
"""Nats a token that the likelihood found may at most be below the greatest."""
ROUNDS = 10_000


def mixed(log_probs: Array, weights: Array) -> Array:
    """Natural log p of N tokens by the mixture, from those of its models ``(M, N)`` and ``weights (M,)``."""
    with np.errstate(divide="ignore"):  # log 0 = -inf, a model that has no say
        terms = np.log(weights)[:, None] + log_probs
    found: Array = np.logaddexp.reduce(terms, axis=0)
    return found


def tune(log_probs: Array) -> Array:
    """The weights ``(M,)`` of greatest likelihood for ``log_probs (M, N)``, natural, of a held-out text.

    Tokens that no model thinks possible say nothing about the weights and are left out. UserError: there are no others.
    """
    greatest = log_probs.max(axis=0)
    possible = greatest > -np.inf
    if not possible.any():
        raise UserError("no model gives any word of the validation text a probability above 0: no weights to be found")
    # of each token only the ratios of p_1 ... p_M count: the greatest of them is 1
    probs = np.exp(log_probs[:, possible] - greatest[possible])
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(ROUNDS):
        gains = gradient(probs, weights)
        # L is concave, so that L(lambda*) - L(lambda) <= sum_m lambda*_m gains_m - 1 <= max_m gains_m - 1
        if gains.max() - 1 <= GAP:
            return weights
        weights = weights * gains
        weights /= weights.sum()
    log.warning("weights: still %.1e nats a token from the greatest likelihood at most", gains.max() - 1)
    return weights


def gradient(probs: Array, weights: Array) -> Array:
    """dL / dlambda_m ``(M,)`` of the mean log-likelihood L, from probabilities ``(M, N)`` up to a factor a token.

    lambda_m times it is the share of tokens that model m accounts for, which is the next lambda_m:
    lambda_m <- 1/N sum_n lambda_m p_m(n) / sum_k lambda_k p_k(n).
    """
    shares: Array = (probs / (weights @ probs)).mean(axis=1)
    return shares
