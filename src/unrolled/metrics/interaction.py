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

    Percentile bootstrap (Efron & Tibshirani 1993): runs of each system are drawn with replacement, and so are
    sentences, among the chosen and among the others, the same for both systems. p is twice the smaller share of
    resamples on one side of 0, at least 2 / (B + 1). A single run tells nothing about other seeds.
    """
    if chosen.all() or not chosen.any():
        return None
    rng = np.random.default_rng(SEED)
    # a system has the same runs (B, R) on both sides: a seed that is good on both is no interaction
    drawn_runs = [rng.integers(len(runs), size=(samples, len(runs))) for runs in (baseline, system)]
    gains = []
    for rows in (~chosen, chosen):
        sentences = int(rows.sum())
        drawn = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)  # (B, N)
        (theirs, theirs_resampled), (ours, ours_resampled) = (
            _means(score, runs[:, rows], drawn, of) for runs, of in zip((baseline, system), drawn_runs, strict=True)
        )
        gains.append((ours - theirs, ours_resampled - theirs_resampled))
    (other, resampled_others), (of_chosen, resampled_chosen) = gains
    differences = resampled_chosen - resampled_others
    lower, upper = np.percentile(differences, (2.5, 97.5)).tolist()
    beyond = 1 + min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    p = min(1.0, 2 * beyond / (1 + samples))
    return Interaction(other, of_chosen, of_chosen - other, lower, upper, p)


def _means(
    score: LineScore, runs: Statistics, drawn: npt.NDArray[np.int64], of: npt.NDArray[np.int64]
) -> tuple[float, npt.NDArray[np.float64]]:
    """The mean score of the runs, and that of the runs ``of (B, R)`` on the sentences ``drawn (B, N)``: ``(B,)``."""
    whole = float(np.mean([score.of_sums(run.sum(axis=0)) for run in runs]))
    scores = np.array([[score.of_sums(sums) for sums in drawn @ run] for run in runs])
    return whole, scores[of, np.arange(len(of))[:, None]].mean(axis=1)
