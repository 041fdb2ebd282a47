"""The unigram level: the loss of whoever knows how often each word comes, and nothing of what stands around it."""

import math

import numpy as np
from numpy.typing import NDArray

LEARNT = 0.1
"""Nats a token below the unigram level from which a model has learnt more than frequencies: a tenth of perplexity."""


def unigram_loss(train: NDArray[np.int64], text: NDArray[np.int64]) -> float:
    """Cross-entropy of a text, nats a token, under the word frequencies of the training text.

    ``train``, ``text (V,)``: how often each word of the vocabulary comes. Each training count is one more, so that a
    word that never came has a probability: p(w) = (n_w + 1) / (N + V), and the loss is -sum_w t_w log p(w) / T. NaN
    for an empty text.
    """
    log_probs = np.log((train + 1) / (train.sum() + len(train)))
    return float(-(text * log_probs).sum() / text.sum()) if text.sum() else math.nan


def leaves_unigram_level(loss: float, unigram: float) -> bool:
    """Whether ``loss`` lies under the unigram level of its text by more than chance; False for NaN."""
    return loss < unigram - LEARNT
