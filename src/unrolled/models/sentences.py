"""The parts of a batch that models read, as protocols: `unrolled.data.batch.Batch` satisfies both.

Letters: B sentences, S source length, T target words to predict.
"""

from typing import Any, Protocol

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
