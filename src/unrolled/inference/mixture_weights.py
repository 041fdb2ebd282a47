"""A mixture of language models and its weights: p(w | h) = sum_m lambda_m p_m(w | h).

Expectation maximisation finds the weights that give a held-out text the greatest likelihood (Jelinek & Mercer 1980,
"Interpolated estimation of Markov source parameters from sparse data"). Letters: M models, N tokens.
"""

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.errors import UserError

Array = NDArray[Any]
log = logging.getLogger(__name__)

GAP = 1e-7
"""How far the likelihood may stay below its maximum, in nats per token."""
ROUNDS = 10_000


def mixed(log_probs: Array, weights: Array) -> Array:
    """Natural log p of N tokens by the mixture, from those of its models ``(M, N)`` and ``weights (M,)``."""
    with np.errstate(divide="ignore"):  # log 0 = -inf: a model with weight 0
        terms = np.log(weights)[:, None] + log_probs
    of_mixture: Array = np.logaddexp.reduce(terms, axis=0)
    return of_mixture


def tune(log_probs: Array) -> Array:
    """The weights ``(M,)`` with the greatest likelihood, from the natural ``log_probs (M, N)`` of a held-out text.

    Tokens with probability 0 by every model do not depend on the weights and are ignored. UserError: there are no
    others.
    """
    greatest = log_probs.max(axis=0)
    possible = greatest > -np.inf
    if not possible.any():
        raise UserError(
            "no model gives any word of the validation text a probability above 0, so no weights can be found"
        )
    # only the ratios of a token's p_1 ... p_M count: the greatest of them is set to 1
    probs = np.exp(log_probs[:, possible] - greatest[possible])
    weights = np.full(len(probs), 1 / len(probs))
    for _ in range(ROUNDS):
        gains = gradient(probs, weights)
        # L is concave, so that L(lambda*) - L(lambda) <= sum_m lambda*_m gains_m - 1 <= max_m gains_m - 1
        if gains.max() - 1 <= GAP:
            return weights
        weights = weights * gains
        weights /= weights.sum()
    log.warning("weights: still up to %.1e nats a token below the greatest likelihood", gains.max() - 1)
    return weights


def gradient(probs: Array, weights: Array) -> Array:
    """dL / dlambda_m ``(M,)`` of the mean log-likelihood L, from probabilities ``(M, N)`` up to a factor per token.

    Times lambda_m it is the share of tokens that model m accounts for, which is the next lambda_m:
    lambda_m <- 1/N sum_n lambda_m p_m(n) / sum_k lambda_k p_k(n).
    """
    shares: Array = (probs / (weights @ probs)).mean(axis=1)
    return shares
