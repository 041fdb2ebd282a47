"""The score of groups of sentences, by length or any other number, with confidence bands.

Letters: R runs of one system, N sentences, K counts of each, B resamples.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.metrics.line_scores import LineScore

SEED = 12345
"""For resampling; the same as sacreBLEU's."""
TINY = 1e-9
"""Above 0, and below any share of counts."""
FEWEST = 10
"""The fewest sentences in a group made by `even_edges`: with fewer, a score and its band mean nothing."""


class Band(NamedTuple):
    """The score of the sentences with a number from ``low`` to below ``high``, and its 95 % confidence interval.

    ``center``: halfway between low and the last number of the group, or the median of an open group.
    """

    low: float
    high: float
    center: float
    sentences: int
    score: float
    lower: float
    upper: float

    @property
    def interval(self) -> str:
        """1–5 words, the last 26 or more; of shares 0, 0–0.2, 0.2–0.4."""
        if isinstance(self.low, int) and not math.isinf(self.high):
            return f"{self.low}–{self.high - 1}" if self.high - 1 > self.low else f"{self.low}"
        low, high = (f"{round(end, 3):g}" for end in (self.low, self.high))
        if math.isinf(self.high):
            return f"> {low}" if 0 < self.low <= TINY else f"≥ {low}"
        return f"{low}–{high}" if low != high else low


def score_bands(
    score: LineScore,
    statistics: npt.NDArray[np.int64],
    numbers: Sequence[float],
    edges: Sequence[float],
    *,
    samples: int,
) -> list[Band]:
    """The score of each group of sentences, averaged over the runs, with bootstrapped bands.

    ``statistics (R, N, K)`` are those of ``score``, ``numbers (N,)`` one per sentence; ``edges``, ascending, are the
    smallest numbers of the groups, the last of which is open. Groups without sentences are omitted.

    The interval covers the middle 95 % of ``samples`` means (percentile bootstrap, Efron & Tibshirani 1993); for each
    mean the sentences of the group and, if there are several, the runs are drawn with replacement. So it shows the
    effect of other sentences and, as far as few runs can tell, of other seeds; for a single run only that of other
    sentences. The same sentences are drawn for every system with the same numbers.
    """
    values = np.asarray(numbers)
    whole = np.issubdtype(values.dtype, np.integer)
    bands = []
    for low, high in zip(edges, [*edges[1:], math.inf]):
        rows = np.flatnonzero((values >= low) & (values < high))
        if len(rows) == 0:
            continue
        means = _resampled(score, statistics[:, rows], samples)
        center = float(np.median(values[rows])) if math.isinf(high) else (low + high - whole) / 2
        mean = float(np.mean([score.of_sums(run.sum(axis=0)) for run in statistics[:, rows]]))
        lower, upper = np.percentile(means, (2.5, 97.5)).tolist()
        bands.append(Band(low, high, center, len(rows), mean, lower, upper))
    return bands


def _resampled(score: LineScore, statistics: npt.NDArray[np.int64], samples: int) -> npt.NDArray[np.float64]:
    """The score ``(B,)`` of drawn sentences, averaged over drawn runs. ``statistics (R, N, K)``."""
    runs, sentences, _ = statistics.shape
    rng = np.random.default_rng(SEED)
    # how often each sentence is drawn (B, N), the same for all runs; then which runs (B, R)
    drawn = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)
    chosen = rng.integers(runs, size=(samples, runs))
    scores = np.array([[score.of_sums(sums) for sums in drawn @ run] for run in statistics])
    return scores[chosen, np.arange(samples)[:, None]].mean(axis=1)


def even_edges(numbers: Sequence[float], widths: Sequence[float], *, most: int = 8) -> list[float]:
    """Edges of groups with one of ``widths`` (ascending), so that about ``most`` groups hold 99 % of the numbers.

    For whole numbers the groups are 1 to w, w + 1 to 2 w and so on. For others they are 0 to w, w to 2 w and so on,
    after a group for exactly 0, as sentences without any reordering are a special case. Small groups are `merged`.
    """
    values = np.asarray(numbers)
    whole = np.issubdtype(values.dtype, np.integer)
    reach = np.quantile(values, 0.99) - (values.min() if whole else 0)
    width = next((w for w in widths if reach <= most * w), widths[-1])
    places = np.arange((values.min() - 1) // width if whole else 0, values.max() // width + 1)
    if whole:
        edges = np.maximum(places * width + 1, 0).astype(int).tolist()  # 0: empty lines
    else:
        edges = [0.0, TINY, *np.round(places[1:] * width, 6).tolist()]
    counts = np.histogram(values, [*edges, np.inf])[0]
    edges = [edge for edge, count in zip(edges, counts) if count or edge == edges[0]]  # one long line leaves many empty
    return merged(values, edges)


def merged(values: npt.ArrayLike, edges: Sequence[float]) -> list[float]:
    """The ``edges`` left after merging the smallest group, again and again, until none has fewer than FEWEST members.

    It is merged with the previous one, the first with the second.
    """
    edges = list(edges)
    while len(edges) > 1:
        counts = np.histogram(values, [*edges, np.inf])[0]
        least = int(counts.argmin())
        if counts[least] >= FEWEST:
            break
        del edges[least or 1]
    return edges
