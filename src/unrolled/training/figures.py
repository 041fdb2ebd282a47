"""Pictures as PNG files: attention weights as heat maps, and the curves of a run. No global state of matplotlib."""

import csv
import math
import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.ticker import LogFormatter

CELL = 0.24
"""Inches of a piece's row or column."""
LARGEST = 40.0
"""Inches of a heat map's longer side; beyond about 170 pieces cells shrink."""
FONTS = ("DejaVu Sans", "Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS")
"""Each glyph is drawn in the first that has it, of those that are installed; the first comes with matplotlib."""


def alignment_figure(
    source: Sequence[str],
    target: Sequence[str],
    weights: npt.ArrayLike,
    links: Iterable[tuple[int, int]] | None = None,
    title: str | None = None,
) -> Figure:
    """Attention weights ``(T, S)`` in greys, black for 1: ``source`` pieces on top, ``target`` pieces on the left.

    ``links`` are known (source, target) places, drawn as red circles. ValueError if shape and pieces do not agree.
    """
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(target), len(source)) or weights.size == 0:
        raise ValueError(f"weights of shape {weights.shape} for {len(target)} target and {len(source)} source pieces")
    cell = min(CELL, LARGEST / max(weights.shape))
    figure = Figure(figsize=(cell * len(source), cell * len(target)), dpi=120)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.imshow(weights, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")

    # parse_math: a dollar sign is a dollar sign
    text: dict[str, Any] = {"family": _fonts(), "fontsize": 72 * cell * 0.52, "parse_math": False}
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source)), source, rotation=90, **text)
    axes.set_yticks(range(len(target)), target, **text)
    axes.set_xticks(np.arange(0.5, len(source) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(target) - 1), minor=True)
    axes.grid(which="minor", color="0.9", linewidth=0.5)
    axes.tick_params(which="both", length=0)
    if links is not None:
        places = np.array(sorted(links), dtype=np.float64).reshape(-1, 2)
        size = (72 * cell * 0.6) ** 2  # scatter's sizes are areas in points
        axes.scatter(places[:, 0], places[:, 1], s=size, facecolors="none", edgecolors="red", linewidths=1.2)
    if title is not None:
        axes.set_title(title, loc="left", fontsize=10, family=_fonts(), parse_math=False)
    return figure


def curves_figure(metrics_csv: Path) -> Figure:
    """Loss, perplexity and BLEU over training steps, of training and validation, as far as ``metrics_csv`` has them.

    The file has a column ``step`` and columns like ``val/loss``, whose cells may be empty.
    """
    with open(metrics_csv, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    panels = {
        name: {split: points for split in ("train", "val") if (points := _points(rows, f"{split}/{name}"))}
        for name in ("loss", "perplexity", "bleu")
    }
    panels = {name: curves for name, curves in panels.items() if curves} or {"loss": {}}

    figure = Figure(figsize=(4.2 * len(panels), 3.2), dpi=120, layout="constrained")
    for axes, (name, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for split, points in curves.items():
            color, marker = ("0.6", None) if split == "train" else ("C0", ".")
            axes.plot(*zip(*points, strict=True), label=split, color=color, marker=marker)
        axes.set_title({"loss": "loss (nats a token)", "perplexity": "perplexity", "bleu": "BLEU"}[name], fontsize=10)
        axes.set_xlabel("step")
        axes.grid(color="0.9")
        if name == "perplexity":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(LogFormatter())
            axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))  # if less than a decade is shown
        if curves:
            axes.legend(frameon=False)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write ``figure`` as PNG, or whatever the suffix of ``path`` says, in its place at once, never half of it.

    Fonts in a PDF are TrueType, as publishers want them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        fonts = rc_context({"pdf.fonttype": 42})
        with os.fdopen(descriptor, "wb") as file, warnings.catch_warnings(), fonts:
            warnings.filterwarnings("ignore", message="Glyph .* missing from")  # a box in its place says it
            warnings.filterwarnings("ignore", message="Matplotlib currently does not support .* natively")
            figure.savefig(file, format=path.suffix[1:], bbox_inches="tight", pad_inches=0.08)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _points(rows: list[dict[str, str]], column: str) -> list[tuple[int, float]]:
    """(step, value) by rising step, where the value is there and finite."""
    points = [(int(float(row["step"])), float(row[column])) for row in rows if row.get(column) and row.get("step")]
    return sorted(point for point in points if math.isfinite(point[1]))


@cache
def _fonts() -> list[str]:
    installed = {font.name for font in fontManager.ttflist}
    return [name for name in FONTS if name in installed]
