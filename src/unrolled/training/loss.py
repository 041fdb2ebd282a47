"""The training objective: cross-entropy over words, from sums and counts."""

from typing import NamedTuple

import torch
from torch import Tensor


class TokenLoss(NamedTuple):
    """Sums over N words, in nats: divide by ``tokens`` once, at the end."""

    objective: Tensor
    """What is minimised: cross-entropy with label smoothing."""
    negative_log_likelihood: Tensor
    """-sum log p(word): what is reported; equal to ``objective`` without smoothing."""
    tokens: int


def token_loss(logits: Tensor, words: Tensor, label_smoothing: float = 0.0) -> TokenLoss:
    """Cross-entropy of logits ``(N, V)`` with words ``(N,)``, summed in float32 or wider.

    With smoothing e the target distribution is (1 - e) on the word plus e/V on every word (Szegedy et al. 2016,
    section 7).
    """
    if logits.dtype.itemsize < 4:
        logits = logits.float()
    # -log p(w) = log sum_v exp(l_v) - l_w
    log_normaliser = torch.logsumexp(logits, dim=-1)
    word_logits = logits.gather(1, words.unsqueeze(1)).squeeze(1)
    nll = (log_normaliser - word_logits).sum()
    if label_smoothing == 0.0:
        return TokenLoss(nll, nll, words.numel())
    # (1 - e) (-log p(w)) + e/V sum_v (-log p(v))
    uniform = (log_normaliser - logits.mean(dim=-1)).sum()
    return TokenLoss((1 - label_smoothing) * nll + label_smoothing * uniform, nll, words.numel())
