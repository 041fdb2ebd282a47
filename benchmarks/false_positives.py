"""How often compare.py shows a gain on longer lines where there is none: p < 0.05, in simulated comparisons.

    python benchmarks/false_positives.py

Lines are right with a rate of 0.5. Each run shifts this rate on all lines, and once more on the long ones, by normal
effects with the standard deviations in the table: two systems never differ, but their runs do.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from unrolled.metrics.interaction import Statistics, interaction
from unrolled.metrics.line_scores import ExactMatch

LINES, LONG, COMPARISONS = 240, 80, 1000


def main() -> None:
    print("runs of each  effect of a run  on long lines  p < 0.05")
    for runs in (2, 3, 5):
        for on_all, on_long in ((0.05, 0.0), (0.05, 0.05), (0.1, 0.1)):
            share = shown_gains(runs, on_all, on_long, comparisons=COMPARISONS) / COMPARISONS
            print(f"{runs:12}  {on_all:15}  {on_long:13}  {share:8.1%}", flush=True)


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


if __name__ == "__main__":
    main()
