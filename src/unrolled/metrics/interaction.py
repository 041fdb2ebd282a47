"""Whether a system gains more on some sentences than on others, such as on long ones: an interaction.

Letters: R runs of a system, N sentences, K counts of each, B resamples.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.metrics.bands import SEED
from unrolled.metrics.line_scores import LineScore
from unrolled.metrics.seed_significance import difference, scores_of_runs

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

    The score of a run on the chosen sentences minus that on the others is a score too. If both systems have several
    runs, whether it differs between them is tested as any score is: runs and sentences are random effects
    (`seed_significance`), with the degrees of freedom of the smaller set of sentences. Otherwise by a percentile
    bootstrap (Efron & Tibshirani 1993) of the chosen sentences and of the others, the same for both systems; p is twice
    the smaller share of resamples on one side of 0, at least 2 / (B + 1). This tells nothing about other seeds.
    """
    if chosen.all() or not chosen.any():
        return None
    rng = np.random.default_rng(SEED)
    sides = []
    for rows in (~chosen, chosen):
        sentences = int(rows.sum())
        drawn = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)  # (B, N)
        sides.append([scores_of_runs(score, runs[:, rows], drawn) for runs in (baseline, system)])
    other, of_chosen = (float(ours.mean() - theirs.mean()) for (theirs, _), (ours, _) in sides)
    theirs, ours = ((on_chosen[0] - on_other[0], on_chosen[1] - on_other[1]) for on_other, on_chosen in zip(*sides))
    fewer = min(int(chosen.sum()), int((~chosen).sum()))
    tested = difference(*theirs, *ours, sentences=fewer)
    if tested is not None:
        return Interaction(other, of_chosen, tested.difference, tested.lower, tested.upper, tested.p)
    resampled = ours[1].mean(axis=0) - theirs[1].mean(axis=0)
    lower, upper = np.percentile(resampled, (2.5, 97.5)).tolist()
    beyond = 1 + min(int((resampled <= 0).sum()), int((resampled >= 0).sum()))
    return Interaction(other, of_chosen, of_chosen - other, lower, upper, min(1.0, 2 * beyond / (1 + samples)))
