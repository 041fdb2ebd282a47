"""How far each system gets in as many updates, and in as much time, as the baseline took."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from unrolled.comparison.groups import Comparison
from unrolled.errors import UserError
from unrolled.runs.folder import Run
from unrolled.runs.metrics_csv import read_curves

CLOCKS = ("train/cpu_seconds", "train/seconds")
"""Processor time if all runs have it, as runs on a CPU do: other programs change it less."""


class Budgets(NamedTuple):
    """Means over the runs of a group.

    updates, seconds: of the whole training. end, at_updates, at_time: the best validation of the whole training, within
    as many updates as the baseline's run with the same seed made, and within the time that it took. What is not known
    is NaN.
    """

    updates: float
    seconds: float
    end: float
    at_updates: float
    at_time: float


class Equal(NamedTuple):
    """monitor: the validation figure by which all checkpoints were chosen; clock: one of `CLOCKS`."""

    monitor: str
    clock: str
    by_label: dict[str, Budgets]


def equal_budgets(comparison: Comparison) -> Equal | None:
    """For the groups that share a seed with the baseline; None without a baseline or a common figure.

    A group without curves in its run folders has no row.
    """
    if comparison.baseline is None:
        return None
    runs = [run for group in comparison.groups for run in group.runs]
    chosen = {(run.options.get("objective.monitor"), run.options.get("objective.mode")) for run in runs}
    monitor, mode = next(iter(chosen))
    if len(chosen) > 1 or not isinstance(monitor, str) or mode not in ("min", "max"):
        return None
    clock = next((name for name in CLOCKS if all(_seconds(run, name) for run in runs)), CLOCKS[-1])
    others = comparison.baseline.by_seed()
    by_label = {}
    for group in comparison.groups:
        rows = [
            row
            for seed, run in group.by_seed().items()
            if seed in others and (row := _budgets(run, others[seed], monitor, mode, clock))
        ]
        if rows and len(rows) == len(group.by_seed().keys() & others.keys()):
            by_label[group.label] = Budgets(*map(fmean, zip(*rows, strict=True)))
    return Equal(monitor, clock, by_label) if len(by_label) > 1 else None


def _budgets(run: Run, baseline: Run, monitor: str, mode: str, clock: str) -> Budgets | None:
    updates, limit = run.results.get("steps"), baseline.results.get("steps")
    if not updates or not limit:
        return None
    try:
        rows = read_curves(run.folder)
    except UserError:
        return None
    # a validation after the end of training has its number of updates as the step, one more than the last of training
    curve = [(min(row["step"] + 1, updates), row[monitor]) for row in rows if monitor in row and "step" in row]
    if not curve:
        return None
    seconds, time_limit = _seconds(run, clock), _seconds(baseline, clock)
    in_time = math.nan
    if seconds is not None and time_limit is not None:
        # all updates cost the same; in this order equal times give exactly as many updates
        in_time = _best(curve, updates * (time_limit / seconds), mode)
    end = _best(curve, math.inf, mode)
    return Budgets(updates, math.nan if seconds is None else seconds, end, _best(curve, limit, mode), in_time)


def _best(curve: Sequence[tuple[float, float]], updates: float, mode: str) -> float:
    """NaN if there was no validation yet."""
    values = [value for step, value in curve if step <= updates and not math.isnan(value)]
    return math.nan if not values else max(values) if mode == "max" else min(values)


def _seconds(run: Run, clock: str) -> float | None:
    value = run.results.get(clock)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None
