"""The parts of a batch that models read, as protocols: `unrolled.data.batch.Batch` satisfies both.

Letters: B sentences, S source length, T target words to predict.
"""

from typing import Any, Protocol

import torch
from torch import Tensor


class PredictedWords(Protocol):
    """T words to predict in every row, and the word before each."""

    @property
    def target_in(self) -> Tensor:
        """Token ids ``(B, T)``: <s> and all words but the last."""
        ...

    @property
    def target_out(self) -> Tensor:
        """Token ids ``(B, T)``: the words, </s> last."""
        ...

    @property
    def target_out_valid(self) -> Tensor:
        """``(B, T)`` bool, True at real tokens of ``target_out``."""
        ...


def pick(x: Tensor, counted: Tensor) -> Tensor:
    """``(B, T, ...)`` -> ``(N, ...)`` at the ``counted`` positions.

    These are bool ``(B, T)``, or ``(N,)``, the numbers of the positions row by row; for bool a GPU is waited for.
    """
    return x[counted] if counted.dtype == torch.bool else x.flatten(0, 1).index_select(0, counted)


class Sentences(PredictedWords, Protocol):
    """Sentences, or sentence pairs if there is a source."""

    @property
    def source(self) -> Any:
        """Token ids ``(B, S)``."""
        ...

    @property
    def source_lengths(self) -> Any:
        """``(B,)``, on the CPU."""
        ...

    @property
    def target(self) -> Tensor:
        """Token ids ``(B, T + 1)``: <s>, the words, </s>."""
        ...
