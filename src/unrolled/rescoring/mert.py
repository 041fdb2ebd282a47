"""The weights of an n-best list's features that give the best BLEU: minimum error rate training (Och 2003).

A translation's score is sum_k w_k f_k; the best one is chosen for each sentence. Along one weight, the others fixed, a
score is a straight line, so the choice for a sentence changes at a few places, which are computed exactly; BLEU is
evaluated between all of them (Och 2003, section 5). This is repeated for one weight after another until none helps.

Letters: K features, N translations of a sentence.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Quality = Callable[[Array], float]
"""Sums of statistics over all sentences -> the quality to maximise."""


_ROUNDING = 1e-9  # places nearer to each other than this (relatively) count as one: the choice between is arbitrary


class Candidates(NamedTuple):
    """Features ``(N, K)`` and statistics ``(N, M)`` of a sentence's translations."""

    features: Array
    statistics: Array


def chosen(features: Array, weights: Array) -> int:
    """The chosen translation: the one with the greatest score, the first if equal."""
    return int(np.argmax(features @ weights))


def quality_of(sentences: Sequence[Candidates], weights: Array, quality: Quality) -> float:
    """The quality of the translations that ``weights (K,)`` choose."""
    return quality(np.sum([s.statistics[chosen(s.features, weights)] for s in sentences], axis=0))


def tune(sentences: Sequence[Candidates], start: Array, quality: Quality, *, restarts: int, seed: int) -> Array:
    """The best weights ``(K,)``, from ``start (K,)`` and ``restarts`` random ones; their absolute values sum to 1."""
    random = np.random.default_rng(seed)
    scale = np.mean([np.abs(s.features).mean(axis=0) for s in sentences], axis=0)
    beginnings = [start, *(random.uniform(-1, 1, len(start)) / np.where(scale > 0, scale, 1) for _ in range(restarts))]
    optima = [_climb(sentences, begin, quality) for begin in beginnings]
    weights = max(optima, key=lambda pair: pair[0])[1]
    size = np.abs(weights).sum()
    return weights / size if size > 0 else weights


def _climb(sentences: Sequence[Candidates], weights: Array, quality: Quality) -> tuple[float, Array]:
    best = quality_of(sentences, weights, quality)
    while True:
        steps = [line_search(sentences, weights, axis, quality) for axis in range(len(weights))]
        axis = max(range(len(weights)), key=lambda axis: steps[axis][0])
        value, position = steps[axis]
        if value <= best + 1e-9:
            return best, weights
        weights = weights.copy()
        weights[axis] = position
        best = value


def line_search(sentences: Sequence[Candidates], weights: Array, axis: int, quality: Quality) -> tuple[float, float]:
    """The greatest quality that weight ``axis`` can reach, the others fixed, and a value that reaches it."""
    rest = weights.copy()
    rest[axis] = 0
    places: list[tuple[float, Array]] = []  # where a choice changes, and how the statistics change there
    total = np.zeros(sentences[0].statistics.shape[1])
    for sentence in sentences:
        hull = envelope(sentence.features[:, axis], sentence.features @ rest)
        total = total + sentence.statistics[hull[0][1]]
        for (_, before), (place, after) in pairwise(hull):
            places.append((place, sentence.statistics[after] - sentence.statistics[before]))
    places.sort(key=lambda change: change[0])
    borders = [place for place, _ in places]
    best = (quality(total), (borders[0] - 1) if borders else weights[axis])
    for number, (place, change) in enumerate(places):
        total = total + change
        following = borders[number + 1] if number + 1 < len(places) else place + 2
        if following - place > _ROUNDING * max(1, abs(place)):
            best = max(best, (quality(total), (place + following) / 2), key=lambda pair: pair[0])
    return best


def envelope(slopes: Array, heights: Array) -> list[tuple[float, int]]:
    """The upper envelope of the lines height + slope x, from minus infinity: (where it begins, which line).

    The first of equal lines is used.
    """
    hull: list[tuple[float, int]] = []
    for line in sorted(range(len(slopes)), key=lambda line: (slopes[line], heights[line], -line)):
        begin = -np.inf
        while hull:
            place, last = hull[-1]
            if slopes[last] == slopes[line]:
                hull.pop()  # parallel and not higher, or the same line later in the list
                continue
            begin = (heights[last] - heights[line]) / (slopes[line] - slopes[last])
            if begin > place:
                break
            hull.pop()
        hull.append((begin if hull else -np.inf, line))
    return hull
