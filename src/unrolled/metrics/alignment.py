"""Alignment error rate, and links read off attention weights.

A link is (i, j): source word i goes with target word j, both from 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.data.alignment import Links


class AlignmentScores(NamedTuple):
    """Scores over all links of a corpus, as shares; NaN where there is nothing to divide by. Lower AER is better."""

    aer: float
    precision: float
    recall: float
    links: int
    """Found links."""


def alignment_scores(found: Sequence[Links], gold: Sequence[tuple[Links, Links]]) -> AlignmentScores:
    """Och & Ney 2003, "A systematic comparison of various statistical alignment models", section 6.

    ``found`` and ``gold`` (sure, possible) have one entry a sentence pair; ValueError if they are not equally many.
    Counts are summed over the corpus before the division.
    """
    a = s = in_s = in_p = 0
    for links, (sure, possible) in zip(found, gold, strict=True):
        a += len(links)
        s += len(sure)
        in_s += len(links & sure)
        in_p += len(links & (sure | possible))
    return AlignmentScores(
        aer=1 - _share(in_s + in_p, a + s),  # 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
        precision=_share(in_p, a),  # |A ∩ P| / |A|
        recall=_share(in_s, s),  # |A ∩ S| / |S|
        links=a,
    )


def links_from_weights(weights: npt.ArrayLike) -> Links:
    """Each target word with the source word that it looks at most, of equals the first. ``weights (T, S)``."""
    weights = np.asarray(weights)
    if weights.size == 0:
        return set()
    return {(int(source), target) for target, source in enumerate(weights.argmax(axis=1))}


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
