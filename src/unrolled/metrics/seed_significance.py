"""Whether two systems differ, each trained with several seeds: on other sentences and with other seeds too.

sacreBLEU's paired tests compare two trained models. They say nothing about other seeds: two runs of one system often
differ significantly. Clark et al. 2011, "Better Hypothesis Testing for Statistical Machine Translation: Controlling for
Optimizer Instability", ask for several runs of each system. Here runs and sentences are both random effects.

Letters: R runs of a system, N sentences, K counts of each, B resamples of the sentences.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.metrics.bands import SEED
from unrolled.metrics.line_scores import LineScore

Scores = npt.NDArray[np.float64]
LEVEL, POWER = 0.05, 0.8
ENOUGH = 4  # degrees of freedom of the runs for Satterthwaite's approximation


class SystemDifference(NamedTuple):
    """How much higher a system scores than the baseline, in the mean over its runs, and how certain that is.

    ``lower``, ``upper``: the 95 % confidence interval. ``p``: two-sided. ``detectable``: the smallest true difference
    that this many runs and sentences would show, at p < 0.05, in four of five experiments.
    """

    difference: float
    lower: float
    upper: float
    p: float
    detectable: float


def score_difference(
    score: LineScore, baseline: npt.NDArray[np.int64], system: npt.NDArray[np.int64], *, samples: int
) -> SystemDifference | None:
    """From the statistics ``(R, N, K)`` of ``score`` of both; None if one of them has a single run."""
    sentences = baseline.shape[1]
    drawn = np.random.default_rng(SEED).multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)
    return difference(
        *scores_of_runs(score, baseline, drawn), *scores_of_runs(score, system, drawn), sentences=sentences
    )


def scores_of_runs(
    score: LineScore, runs: npt.NDArray[np.int64], drawn: npt.NDArray[np.int64]
) -> tuple[Scores, Scores]:
    """The score of each of the ``runs (R, N, K)``: ``(R,)``; and on sentences ``drawn (B, N)`` times: ``(R, B)``."""
    whole = np.array([score.of_sums(run.sum(axis=0)) for run in runs])
    return whole, np.array([[score.of_sums(sums) for sums in drawn @ run] for run in runs])


def difference(
    baseline: Scores, baseline_resampled: Scores, system: Scores, system_resampled: Scores, *, sentences: int
) -> SystemDifference | None:
    """From the score of each run ``(R,)``, and its scores on resampled sentences ``(R, B)``; None for a single run, and
    if nothing varies.

    A run's score is that of its system, plus the effect of its seed, plus the effects of these sentences on the system
    and on the run. So the mean difference has the variance

        V = s^2 (1/R + 1/R') + max(0, V_sentences - V_both),

    s^2 the variance between runs, pooled, with R + R' - 2 degrees of freedom; V_sentences that of the difference over
    resampled sentences; V_both the part that both of these contain, a run's own response to the sentences. V has the
    degrees of freedom of Satterthwaite (1946), and the difference over the root of V is taken as Student's t. Where one
    system has two runs and the other no more than three, an s^2 that is small by chance would often be trusted too
    much: there the degrees of freedom are those of Cochran's weighted critical value, see `cochran`.
    """
    ours, theirs = len(system), len(baseline)
    if min(ours, theirs) < 2:
        return None
    mean = float(system.mean() - baseline.mean())
    degrees = ours + theirs - 2
    pooled = float(((system - system.mean()) ** 2).sum() + ((baseline - baseline.mean()) ** 2).sum()) / degrees
    of_runs = pooled * (1 / ours + 1 / theirs)
    of_sentences = float(np.var(system_resampled.mean(axis=0) - baseline_resampled.mean(axis=0), ddof=1))
    # how resampling moves a run against the mean of its system
    moved = [np.var(runs - runs.mean(axis=0), axis=1, ddof=1).sum() for runs in (baseline_resampled, system_resampled)]
    both = float(sum(moved)) / degrees * (1 / ours + 1 / theirs)
    of_systems = max(0.0, of_sentences - both)
    variance = of_runs + of_systems
    if variance == 0:  # of all-or-nothing scores, for instance: nothing is known of other seeds
        return None
    of_lines = max(1, sentences - 1)
    if degrees < ENOUGH:
        freedom = cochran(of_runs / variance, degrees, of_lines)
    else:
        freedom = variance**2 / (of_runs**2 / degrees + of_systems**2 / of_lines)
    error = math.sqrt(variance)
    reach = quantile(1 - LEVEL / 2, freedom)
    return SystemDifference(
        difference=mean,
        lower=mean - reach * error,
        upper=mean + reach * error,
        p=two_sided(mean / error, freedom),
        detectable=(reach + quantile(POWER, freedom)) * error,
    )


def cochran(share: float, of_runs: int, of_lines: int) -> float:
    """The degrees of freedom whose critical value of t is the mean of those of both parts of the variance.

    Cochran & Cox (1950): each part counts by its share of the variance, ``share`` for the runs.
    """
    parts = [quantile(1 - LEVEL / 2, freedom) for freedom in (of_runs, of_lines)]
    reach = share * parts[0] + (1 - share) * parts[1]
    fewest, most = sorted((float(of_runs), min(float(of_lines), NORMAL)))
    for _ in range(60):  # the critical value falls as the degrees rise
        middle = math.sqrt(fewest * most)
        fewest, most = (middle, most) if two_sided(reach, middle) > LEVEL else (fewest, middle)
    return most


NORMAL = 1e6  # degrees of freedom, above which the distribution is as good as normal
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def two_sided(t: float, freedom: float) -> float:
    """P(|T| > |t|) of Student's t with ``freedom`` degrees of freedom, at least 1."""
    outside, everything = _outside(t, min(freedom, NORMAL))
    return outside / everything


def _outside(t: float, freedom: float) -> tuple[float, float]:
    """The integrals of Student's density from |t| on and from 0 on, both up to the same constant.

    With T = sqrt(freedom) tan(angle) the density of the angle is cos(angle)^(freedom - 1).
    """
    within = math.atan(abs(t) / math.sqrt(freedom))

    def integral(low: float, high: float) -> float:
        angles = low + (high - low) / 2 * (_NODES + 1)
        return float((np.cos(angles) ** (freedom - 1) * _WEIGHTS).sum()) * (high - low) / 2

    outside = integral(within, math.pi / 2)
    return outside, integral(0, within) + outside


def quantile(share: float, freedom: float) -> float:
    """The value below which Student's t lies with probability ``share``, 0.5 or more.

    By Newton's method from 0: above 0 the distribution function is concave, so each step stays below the value.
    """
    t, freedom = 0.0, min(freedom, NORMAL)
    for _ in range(200):
        outside, everything = _outside(t, freedom)
        density = (1 + t * t / freedom) ** (-(freedom + 1) / 2) / (2 * math.sqrt(freedom) * everything)
        step = (share - 1 + outside / everything / 2) / density
        t += step
        if step <= 1e-12 * t:
            break
    return t
