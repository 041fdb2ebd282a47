"""Scores of a text that follow from sums over its lines: BLEU and exact match.

The counts of every line are kept, so that groups of lines and resampled lines are scored without reading text again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from unrolled.metrics.error_rates import symbols_of
from unrolled.metrics.translation_scores import bleu_of_statistics, bleu_statistics


@dataclass(frozen=True)
class LineScore(ABC):
    """A score in percent, higher is better. title: in tables and figures; name: in the names of files."""

    title: ClassVar[str]
    name: ClassVar[str]

    @abstractmethod
    def counts(self, translations: Sequence[str], reference: str) -> list[list[int]]:
        """K counts of each translation of one line."""

    @abstractmethod
    def of_sums(self, sums: Iterable[Any]) -> float:
        """The score of lines from the sums of their counts ``(K,)``."""

    def statistics(self, runs: Sequence[Sequence[str]], references: Sequence[str]) -> npt.NDArray[np.int64]:
        """Counts ``(R, N, K)`` of the translations of N lines by R runs. ValueError: different numbers of lines."""
        rows = [
            self.counts(translations, reference) for reference, *translations in zip(references, *runs, strict=True)
        ]
        return np.array(rows, dtype=np.int64).transpose(1, 0, 2)


@dataclass(frozen=True)
class Bleu(LineScore):
    """Corpus BLEU; ``tokenize`` and ``lowercase`` as in `translation_scores`."""

    tokenize: str = "13a"
    lowercase: bool = False
    title = "BLEU"
    name = "bleu"

    @override
    def counts(self, translations: Sequence[str], reference: str) -> list[list[int]]:
        return bleu_statistics(translations, reference, tokenize=self.tokenize, lowercase=self.lowercase)

    @override
    def of_sums(self, sums: Iterable[Any]) -> float:
        return bleu_of_statistics(sums)


@dataclass(frozen=True)
class ExactMatch(LineScore):
    """The share of lines that are right, 100 minus the word error rate; ``symbols``: one of `SYMBOLS`."""

    symbols: str
    title = "exact match, %"
    name = "exact-match"

    @override
    def counts(self, translations: Sequence[str], reference: str) -> list[list[int]]:
        wanted = symbols_of(reference, self.symbols)
        return [[int(symbols_of(translation, self.symbols) == wanted), 1] for translation in translations]

    @override
    def of_sums(self, sums: Iterable[Any]) -> float:
        right, lines = sums
        return 100 * float(right) / float(lines)
