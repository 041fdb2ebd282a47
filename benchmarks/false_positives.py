"""How often compare.py shows a difference over seeds where there is none: p < 0.05, in simulated comparisons.

    python benchmarks/false_positives.py

Lines are right with a rate of 0.5. Each run shifts this rate on all lines, and once more on the long ones, by normal
effects with the standard deviations in the table: two systems never differ, but their runs do. The first table is about
a gain on longer lines.

The second table is about a difference over all lines, whose scores are normal. A seed has an effect on its run, and a
line on a system. The share of lines is their part in the variance of the difference; the rest is that of seeds. The
last column is stratified approximate randomisation (Clark et al. 2011): for every line the scores of all runs are
shuffled.
"""

import math
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from unrolled.metrics.interaction import Statistics, interaction
from unrolled.metrics.line_scores import ExactMatch
from unrolled.metrics.seed_significance import difference

LINES, LONG, COMPARISONS = 240, 80, 1000
MANY, FEW = 4000, 500
"""Comparisons by the test of compare.py, enough to tell 5 % from 6 %, and by randomisation, which takes longer."""
OF_SEEDS, OF_RUNS = 0.2, 0.5
"""Standard deviations of the effects of a seed on its run, and of a line on a run."""
Scores = npt.NDArray[np.float64]


def main() -> None:
    print("runs of each  effect of a run  on long lines  p < 0.05")
    for runs in (2, 3, 5):
        for on_all, on_long in ((0.05, 0.0), (0.05, 0.05), (0.1, 0.1)):
            share = shown_gains(runs, on_all, on_long, comparisons=COMPARISONS) / COMPARISONS
            print(f"{runs:12}  {on_all:15}  {on_long:13}  {share:8.1%}", flush=True)
    print("\nruns of each  share of lines  p < 0.05  randomisation")
    for runs in (2, 3, 5):
        for of_lines in (0.0, 0.1, 0.2, 0.5):
            share = shown_differences(runs, of_lines, comparisons=MANY) / MANY
            by_randomisation = randomised_differences(runs, of_lines, comparisons=FEW) / FEW
            print(f"{runs:12}  {of_lines:14}  {share:8.1%}  {by_randomisation:13.1%}", flush=True)


def shown_gains(runs: int, on_all: float, on_long: float, *, comparisons: int) -> int:
    """In how many of the ``comparisons`` p is below 0.05."""
    rng, long = np.random.default_rng(7), np.arange(LINES) >= LINES - LONG
    tested = [
        interaction(
            ExactMatch("word"), *(system(rng, long, runs, on_all, on_long) for _ in range(2)), long, samples=200
        )
        for _ in range(comparisons)
    ]
    return sum(one is not None and one.p < 0.05 for one in tested)


def system(
    rng: np.random.Generator, long: npt.NDArray[np.bool_], runs: int, on_all: float, on_long: float
) -> Statistics:
    """Counts ``(runs, lines, 2)`` of right lines and of lines."""
    rates = 0.5 + on_all * rng.normal(size=(runs, 1)) + on_long * rng.normal(size=(runs, 1)) * long
    right = rng.random((runs, len(long))) < rates
    return np.stack([right, np.ones_like(right)], axis=2).astype(np.int64)


def shown_differences(runs: int, of_lines: float, *, comparisons: int) -> int:
    """In how many of the ``comparisons`` p is below 0.05. of_lines: their share of the variance, below 1."""
    rng = np.random.default_rng(7)
    shown = 0
    for _ in range(comparisons):
        drawn = rng.multinomial(LINES, np.full(LINES, 1 / LINES), size=200).T / LINES
        baseline, other = alike(rng, runs, of_lines)
        tested = difference(baseline.mean(axis=1), baseline @ drawn, other.mean(axis=1), other @ drawn, sentences=LINES)
        shown += tested is not None and tested.p < 0.05
    return shown


def randomised_differences(runs: int, of_lines: float, *, comparisons: int) -> int:
    """The same by `randomisation`."""
    rng = np.random.default_rng(7)
    return sum(randomisation(rng, *alike(rng, runs, of_lines), trials=200) < 0.05 for _ in range(comparisons))


def alike(rng: np.random.Generator, runs: int, of_lines: float) -> tuple[Scores, Scores]:
    """Scores ``(runs, lines)`` of two systems that do not differ but by the effects of seeds and lines."""
    on_system = OF_SEEDS * math.sqrt(of_lines / (1 - of_lines) * LINES / runs)
    systems = [
        OF_SEEDS * rng.normal(size=(runs, 1))
        + on_system * rng.normal(size=LINES)
        + OF_RUNS * rng.normal(size=(runs, LINES))
        for _ in range(2)
    ]
    return systems[0], systems[1]


def randomisation(rng: np.random.Generator, baseline: Scores, other: Scores, *, trials: int) -> float:
    """p of the difference between two systems' scores ``(runs, lines)``."""
    scores, runs = np.concatenate([baseline, other]), len(baseline)
    observed = abs(other.mean() - baseline.mean())
    beyond = 1
    for _ in range(trials):
        shuffled = rng.permuted(scores, axis=0)
        beyond += abs(shuffled[runs:].mean() - shuffled[:runs].mean()) >= observed
    return beyond / (1 + trials)


if __name__ == "__main__":
    main()
