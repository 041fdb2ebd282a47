"""The unigram level: the loss of a model that knows the frequency of each word, but nothing about its context."""

import math

import numpy as np
from numpy.typing import NDArray

LEARNT = 0.1
"""A model this many nats per token below the unigram level has learnt more than frequencies: 10 % of perplexity."""


def unigram_loss(train: NDArray[np.int64], text: NDArray[np.int64]) -> float:
    """Cross-entropy of a text, in nats per token, under the word frequencies of the training text.

    ``train``, ``text (V,)``: the counts of each word of the vocabulary. One is added to each training count, so that
    unseen words have a probability: p(w) = (n_w + 1) / (N + V), and the loss is -sum_w t_w log p(w) / T. NaN for an
    empty text.
    """
    log_probs = np.log((train + 1) / (train.sum() + len(train)))
    return float(-(text * log_probs).sum() / text.sum()) if text.sum() else math.nan


def leaves_unigram_level(loss: float, unigram: float) -> bool:
    """Whether ``loss`` is clearly below the unigram level of its text; False for NaN."""
    return loss < unigram - LEARNT
