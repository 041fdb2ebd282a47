"""Whether a system gains more on some sentences than on others, such as on long ones: an interaction.

Letters: R runs of a system, N sentences, K counts of each, B resamples.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.metrics.bands import SEED
from unrolled.metrics.line_scores import LineScore

Statistics = npt.NDArray[np.int64]


class Interaction(NamedTuple):
    """How much higher a system scores than the baseline on ``other`` sentences and on ``chosen`` ones.

    ``difference``: the second gain minus the first, with its 95 % interval and a two-sided ``p``.
    """

    other: float
    chosen: float
    difference: float
    lower: float
    upper: float
    p: float


def interaction(
    score: LineScore, baseline: Statistics, system: Statistics, chosen: npt.NDArray[np.bool_], *, samples: int
) -> Interaction | None:
    """From the statistics ``(R, N, K)`` of both systems; ``chosen (N,)``; None if all or none of the N are.

    Percentile bootstrap (Efron & Tibshirani 1993): sentences are drawn with replacement among the chosen and among the
    others, the same for both systems, and of each system its runs. p is twice the smaller share of resamples on one
    side of 0, at least 2 / (B + 1). A single run tells nothing about other seeds.
    """
    if chosen.all() or not chosen.any():
        return None
    rng = np.random.default_rng(SEED)
    gains = [_gains(score, baseline[:, rows], system[:, rows], samples, rng) for rows in (~chosen, chosen)]
    (other, resampled_others), (of_chosen, resampled_chosen) = gains
    differences = resampled_chosen - resampled_others
    lower, upper = np.percentile(differences, (2.5, 97.5)).tolist()
    beyond = 1 + min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    p = min(1.0, 2 * beyond / (1 + samples))
    return Interaction(other, of_chosen, of_chosen - other, lower, upper, p)


def _gains(
    score: LineScore, baseline: Statistics, system: Statistics, samples: int, rng: np.random.Generator
) -> tuple[float, npt.NDArray[np.float64]]:
    """The difference in score, and that of resampled sentences and runs ``(B,)``."""
    sentences = baseline.shape[1]
    drawn = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)

    def means(runs: Statistics) -> tuple[float, npt.NDArray[np.float64]]:
        whole = float(np.mean([score.of_sums(run.sum(axis=0)) for run in runs]))
        scores = np.array([[score.of_sums(sums) for sums in drawn @ run] for run in runs])
        of = rng.integers(len(runs), size=(samples, len(runs)))
        return whole, scores[of, np.arange(samples)[:, None]].mean(axis=1)

    (theirs, theirs_resampled), (ours, ours_resampled) = means(baseline), means(system)
    return ours - theirs, ours_resampled - theirs_resampled
