"""The curves of a run."""

import csv
import math
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from unrolled.figures.formats import save_figure

PANELS = {
    "loss": "loss (nats a token)",
    "perplexity": "perplexity",
    "word_error_rate": "word error rate (%)",
    "bleu": "BLEU",
    "aer": "AER (0 to 1)",
}


def curves_figure(metrics_csv: Path, title: str = "") -> Figure:
    """Loss, perplexity, word error rate, BLEU and alignment error rate (AER) in training and validation over steps.

    As far as ``metrics_csv`` has them; ``title`` is above all of them.
    The file has a column ``step`` and columns like ``val/loss``, whose cells may be empty.
    """
    with open(metrics_csv, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    panels = {
        name: {split: points for split in ("train", "val") if (points := _points(rows, f"{split}/{name}"))}
        for name in PANELS
    }
    panels = {name: curves for name, curves in panels.items() if curves} or {"loss": {}}

    high = 1 if len(panels) < 4 else 2
    wide = math.ceil(len(panels) / high)
    figure = Figure(figsize=(4.2 * wide, 3.2 * high), dpi=120, layout="constrained")
    places = figure.subplots(high, wide, squeeze=False).flatten()
    for axes in places[len(panels) :]:
        axes.remove()
    for axes, (name, curves) in zip(places, panels.items(), strict=False):
        for split, points in curves.items():
            color, marker = ("0.6", None) if split == "train" else ("C0", ".")
            axes.plot(*zip(*points, strict=True), label=split, color=color, marker=marker)
        axes.set_title(PANELS[name], fontsize=10)
        axes.set_xlabel("step")
        axes.grid(color="0.9")
        if name == "perplexity":
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(LogFormatter())
            axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))  # if less than a decade is shown
        if curves:
            axes.legend(frameon=False)
    if title:
        figure.suptitle(title, fontsize=10, parse_math=False)
    return figure


def _points(rows: list[dict[str, str]], column: str) -> list[tuple[int, float]]:
    """(step, value) by ascending step, for values that exist and are finite."""
    points = [(int(float(row["step"])), float(row[column])) for row in rows if row.get(column) and row.get("step")]
    return sorted(point for point in points if math.isfinite(point[1]))


def save_curves(folder: Path, title: str) -> None:
    """Draw ``folder``/metrics.csv into ``folder``/figures/curves.png, if there are curves."""
    if (folder / "metrics.csv").is_file():
        save_figure(curves_figure(folder / "metrics.csv", title), folder / "figures" / "curves.png")
