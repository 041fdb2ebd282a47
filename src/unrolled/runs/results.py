"""results.json: the status and figures of a run."""

import json
import math
import sys
from pathlib import Path
from typing import Any

from unrolled.errors import UserError
from unrolled.files import reading, write_text


def write_results(folder: Path, results: dict[str, Any]) -> None:
    """``folder``/results.json; JSON has no NaN or infinity, so those become null."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in results.items()
    }
    write_text(folder / "results.json", json.dumps(finite, indent=2, ensure_ascii=False) + "\n")


def read_results(folder: Path) -> dict[str, Any]:
    """What ``folder``/results.json holds. UserError: a damaged file."""
    path = folder / "results.json"
    if not path.exists():
        raise UserError(f"{path}: there is no such file: the run has not ended")
    with reading(path, "restore the run's own file, or delete it to continue from the last checkpoint"):
        return checked(json.loads(path.read_text(encoding="utf-8")))


def checked(results: Any) -> dict[str, Any]:
    """``results``, unchanged. ValueError: they are no results.json, flat, with facts and figures."""
    if not isinstance(results, dict) or not isinstance(results.get("status"), str | None):
        raise ValueError("these are no results")
    for name, value in results.items():
        if not isinstance(value, str | int | float | None) or ("/" in name and isinstance(value, str | bool)):
            raise ValueError(f"{name} is no figure")
    return results


def show_results(results: dict[str, Any]) -> None:
    """Print the figures to stdout, one per line."""
    width = max(len(name) for name in results)
    for name, value in results.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        sys.stdout.write(f"{name:{width}}  {shown}\n")
    sys.stdout.flush()
