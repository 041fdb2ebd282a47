"""Gradients of the mean over all words of an update, however many batches and processes they are in.

A mean of batch means would give more weight to the words of short batches.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


class WordMean:
    """Keeps the gradients of an update equal to the mean over its words so far.

    With n_k words in the k-th batch, whose mean objective is L_k, and N_k = N_{k-1} + n_k words since the update began:

        g_k = (N_{k-1} / N_k) g_{k-1} + (n_k / N_k) dL_k
    """

    def __init__(self) -> None:
        self._words = torch.zeros(())

    def begin(self) -> None:
        """An update begins."""
        self._words = torch.zeros(())

    def add(self, parameters: Iterable[Tensor], words: Tensor) -> Tensor:
        """Scale the gradients by the share of the previous words, and return the share of ``words`` (a scalar)."""
        before = self._words.to(words)
        self._words = before + words
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        if gradients:
            torch._foreach_mul_(gradients, before / self._words)
        return words / self._words
