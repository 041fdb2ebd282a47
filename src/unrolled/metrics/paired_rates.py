"""Whether two systems' error rates differ on more than these lines, of one data set or as a mean over several.

The tests are those of `significance`, for sums of errors. Letters: D data sets, N lines of one, B samples.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unrolled.metrics.bands import SEED
from unrolled.metrics.error_rates import Errors
from unrolled.metrics.significance import PairedScores

Counts = Sequence[npt.NDArray[np.int64]]
"""D arrays ``(N,)``, one number for each line."""
BLOCK = 1000
"""Samples at a time."""
RATES = {"test/word_error_rate": ("wrong", "lines"), "test/symbol_error_rate": ("edits", "symbols")}
"""The counts of a line that a rate is made of."""


def paired_error_rates(
    baseline: Sequence[Sequence[Errors]], system: Sequence[Sequence[Errors]], *, bootstrap: int, randomization: int
) -> dict[str, PairedScores]:
    """By figure, `paired_rates` of the errors of every line, of D data sets."""
    return {
        figure: paired_rates(
            [_column(lines, errors) for lines in baseline],
            [_column(lines, errors) for lines in system],
            [_column(lines, whole) for lines in system],
            bootstrap=bootstrap,
            randomization=randomization,
        )
        for figure, (errors, whole) in RATES.items()
    }


def _column(lines: Sequence[Errors], name: str) -> npt.NDArray[np.int64]:
    return np.array([getattr(errors, name) for errors in lines], dtype=np.int64)


def paired_rates(
    baseline: Counts, system: Counts, totals: Counts, *, bootstrap: int, randomization: int
) -> PairedScores:
    """Macro-averaged error rates in percent, 100/D sum_d (errors of d / total of d), and p-values of their difference.

    baseline, system: errors of each line; totals: their denominators, the same for both. Lines are drawn, and
    exchanged between the systems, within each data set. ValueError: different numbers of lines, no data set.
    """
    if not baseline or not all(len({len(a), len(b), len(c)}) == 1 for a, b, c in zip(baseline, system, totals)):
        raise ValueError("both systems and the totals need the same lines of one data set at least")
    if not all(total.sum() for total in totals):
        return PairedScores(math.nan, math.nan, 1.0, 1.0)  # as `error_rates` has it: NaN without symbols
    scores = [100 * float(np.mean([e.sum() / t.sum() for e, t in zip(of, totals, strict=True)]))
              for of in (system, baseline)]  # fmt: skip
    differences = [one - other for one, other in zip(system, baseline, strict=True)]
    if scores[0] == scores[1]:
        return PairedScores(scores[0], scores[1], 1.0, 1.0)
    observed = abs(scores[0] - scores[1])
    drawn = _drawn(differences, totals, bootstrap)
    resampled = np.abs(drawn - drawn.mean())
    exchanged = np.abs(_exchanged(differences, totals, randomization))
    p_values = [
        (1 + int((samples >= observed - 1e-9).sum())) / (1 + len(samples)) for samples in (resampled, exchanged)
    ]
    return PairedScores(scores[0], scores[1], *p_values)


def _drawn(differences: Counts, totals: Counts, samples: int) -> npt.NDArray[np.float64]:
    """``(B,)``: the difference in rate with lines drawn with replacement (bootstrap)."""
    rng = np.random.default_rng(SEED)
    rates = np.zeros(samples)
    for difference, total in zip(differences, totals, strict=True):
        lines = len(difference)
        for start in range(0, samples, BLOCK):
            size = min(BLOCK, samples - start)
            often = rng.multinomial(lines, np.full(lines, 1 / lines), size=size)
            rates[start : start + size] += (often @ difference) / np.maximum(often @ total, 1)
    return 100 * rates / len(differences)


def _exchanged(differences: Counts, totals: Counts, samples: int) -> npt.NDArray[np.float64]:
    """``(B,)``: the difference in rate with each line's errors exchanged or not (approximate randomisation)."""
    rng = np.random.default_rng(SEED)
    rates = np.zeros(samples)
    for difference, total in zip(differences, totals, strict=True):
        unequal = difference[difference != 0]
        for start in range(0, samples, BLOCK):
            size = min(BLOCK, samples - start)
            signs = rng.integers(0, 2, size=(size, len(unequal))) * 2 - 1
            rates[start : start + size] += (signs @ unequal) / total.sum()
    return 100 * rates / len(differences)
