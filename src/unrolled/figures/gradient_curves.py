"""Gradient norms on disk and as pictures: gradient_norms.csv, the curves of a run, the curves of a sweep's runs."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unrolled.files import reading, write_text

FILE = "gradient_norms.csv"
LABEL = r"mean $\Vert\partial J_{t+n}\,/\,\partial h_t\Vert$"
ALL = 8
"""The most measurements that a legend names one by one."""


class Row(NamedTuple):
    """A line of gradient_norms.csv: after ``step``, the mean norm at distance ``n`` over ``pairs`` (word, state)."""

    step: int
    n: int
    norm: float
    pairs: int


def read_rows(path: Path) -> list[Row]:
    """The rows of the file; none if it does not exist."""
    if not path.exists():
        return []
    with reading(path), open(path, encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
        return [Row(int(line["step"]), int(line["n"]), float(line["norm"]), int(line["pairs"])) for line in lines]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write all rows so that a reader sees the old file or the new one."""
    lines = [",".join(Row._fields), *(f"{step},{n},{norm!r},{pairs}" for step, n, norm, pairs in rows)]
    write_text(path, "".join(f"{line}\n" for line in lines))


def norms_figure(rows: Sequence[Row]) -> Figure:
    """One run: norm against n, one line per measurement, from dark blue (first) to yellow (last)."""
    figure = Figure(figsize=(5.6, 3.8), dpi=120, layout="constrained")
    axes = figure.subplots()
    steps = sorted({row.step for row in rows})
    for place, step in enumerate(steps):
        color = colormaps["viridis"](0.92 * place / max(1, len(steps) - 1))
        named = len(steps) <= ALL or place in (0, len(steps) - 1)
        axes.plot(*_points(rows, step), color=color, marker=".", markersize=4, label=_when(step) if named else None)
    _dress(axes)
    axes.set_ylabel(LABEL)
    return figure


def comparison_figure(runs: Mapping[str, Sequence[Row]]) -> Figure:
    """Several runs, by the names of their folders: the first measurement of each on the left, the last on the right."""
    figure = Figure(figsize=(8.4, 3.8), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    labelled = list(zip(_labels(list(runs)), runs.values(), strict=True))
    for axes, side, choose in ((left, "first", min), (right, "last", max)):
        ends = set()
        for place, (label, rows) in enumerate(labelled):
            step = choose(row.step for row in rows)
            axes.plot(*_points(rows, step), color=f"C{place % 10}", marker=".", markersize=4, label=label)
            ends.add(_when(step))
        _dress(axes)
        axes.set_title(ends.pop() if len(ends) == 1 else f"{side} measurement", fontsize=10)
    left.set_ylabel(LABEL)
    return figure


def _points(rows: Sequence[Row], step: int) -> tuple[list[int], list[float]]:
    """n and norm of a measurement, without values that a logarithmic axis cannot show: 0, infinity, NaN."""
    shown = sorted((n, norm) for of, n, norm, _ in rows if of == step and 0 < norm < math.inf)
    return [n for n, _ in shown], [norm for _, norm in shown]


def _when(step: int) -> str:
    return f"step {step}" if step else "before training"


def _labels(folders: Sequence[str]) -> list[str]:
    """0-tanh-seed1, 1-gru-seed1 -> tanh, gru: without job number and common seed, if the names still differ."""
    named = [re.fullmatch(r"(?:\d+-)?(.+?)(-seed\d+)?", folder) for folder in folders]
    seeds = {match[2] for match in named if match}
    short = [match[1] + ("" if len(seeds) == 1 else match[2] or "") for match in named if match]
    return short if len(set(short)) == len(folders) else list(folders)


def _dress(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_xlabel("n, transitions between the state and the word")
    axes.grid(color="0.9")
    if axes.lines:
        axes.legend(frameon=False, fontsize=8)
