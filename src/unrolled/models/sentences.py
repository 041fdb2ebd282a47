"""What models read of a batch, whatever made it: `unrolled.data.batch.Batch` is both.

Letters: B sentences, S source length, T target words to predict.
"""

from typing import Any, Protocol

from torch import Tensor


class PredictedWords(Protocol):
    """T words to predict in every row, and the one before each."""

    @property
    def target_in(self) -> Tensor:
        """Token ids ``(B, T)``: <s> and the words but the last."""
        ...

    @property
    def target_out(self) -> Tensor:
        """Token ids ``(B, T)``: the words, </s> the last."""
        ...

    @property
    def target_out_valid(self) -> Tensor:
        """``(B, T)`` bool, True at real tokens of ``target_out``."""
        ...


class Sentences(PredictedWords, Protocol):
    """Sentences, or with a source pairs of them."""

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
