"""metrics.csv: the curves of a run."""

import csv
import math
from pathlib import Path

from unrolled.files import reading


def read_curves(folder: Path) -> list[dict[str, float]]:
    """``folder``/metrics.csv: a dictionary for each logged step, with the figures logged then.

    Empty if there is no file. UserError: a damaged file.
    """
    path = folder / "metrics.csv"
    if not path.is_file():
        return []
    with reading(path), path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
        return [{name: _number(name, value) for name, value in row.items() if value} for row in rows]


def _number(name: str, value: str) -> float | int:
    number = float(value)
    return int(number) if name in ("step", "epoch") and math.isfinite(number) else number
