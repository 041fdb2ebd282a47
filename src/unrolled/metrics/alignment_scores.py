"""Alignment error rate, and links read off attention weights.

A link is (i, j): source word i belongs to target word j, both from 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.alignment.links import Links


class AlignmentScores(NamedTuple):
    """Scores over all links of a corpus, as shares; NaN where there is nothing to divide by. Lower AER is better."""

    aer: float
    precision: float
    recall: float
    links: int
    """The number of links that were scored."""


@dataclass
class AlignmentCounts:
    """Numbers of links in a corpus: |A| found, |S| sure, and of those found |A ∩ S| sure and |A ∩ P| possible."""

    links: int = 0
    sure: int = 0
    found_sure: int = 0
    found_possible: int = 0

    def add(self, links: Links, gold: tuple[Links, Links]) -> None:
        """Count the links found for a sentence pair, given its (sure, possible) gold links."""
        sure, possible = gold
        self.links += len(links)
        self.sure += len(sure)
        self.found_sure += len(links & sure)
        self.found_possible += len(links & (sure | possible))

    def merge(self, other: "AlignmentCounts") -> None:
        """Add the counts of ``other``."""
        self.links += other.links
        self.sure += other.sure
        self.found_sure += other.found_sure
        self.found_possible += other.found_possible

    def scores(self) -> AlignmentScores:
        """Och & Ney 2003, "A systematic comparison of various statistical alignment models", section 6."""
        return AlignmentScores(
            # 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
            aer=1 - share(self.found_sure + self.found_possible, self.links + self.sure),
            precision=share(self.found_possible, self.links),  # |A ∩ P| / |A|
            recall=share(self.found_sure, self.sure),  # |A ∩ S| / |S|
            links=self.links,
        )


def alignment_scores(hypotheses: Iterable[Links], gold: Iterable[tuple[Links, Links]]) -> AlignmentScores:
    """Scores of a whole corpus.

    ``hypotheses`` and ``gold`` (sure, possible) have one entry per sentence pair; ValueError if they differ in length.
    """
    counts = AlignmentCounts()
    for links, known in zip(hypotheses, gold, strict=True):
        counts.add(links, known)
    return counts.scores()


def links_from_weights(weights: npt.ArrayLike) -> Links:
    """Links each target word to the source word that it attends to most, the first if equal. ``weights (T, S)``.

    A word without weights, which has no pieces, has no link.
    """
    weights = np.asarray(weights)
    if weights.size == 0:
        return set()
    attended = np.where(weights.any(axis=1), weights.argmax(axis=1), -1)
    return {(source, target) for target, source in enumerate(attended.tolist()) if source >= 0}


def share(quantity: float, whole: int) -> float:
    """``quantity`` of ``whole``; NaN if there is nothing to divide by."""
    return quantity / whole if whole else float("nan")
