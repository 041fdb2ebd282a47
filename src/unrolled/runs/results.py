"""results.json: the status and figures of a run."""

import json
import math
import sys
from pathlib import Path
from typing import Any

from unrolled.files import write_text


def write_results(folder: Path, results: dict[str, Any]) -> None:
    """``folder``/results.json; JSON has no NaN or infinity, so those become null."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in results.items()
    }
    write_text(folder / "results.json", json.dumps(finite, indent=2, ensure_ascii=False) + "\n")


def read_results(folder: Path) -> dict[str, Any]:
    """The content of ``folder``/results.json."""
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def show_results(results: dict[str, Any]) -> None:
    """Print the figures to stdout, one per line."""
    width = max(len(name) for name in results)
    for name, value in results.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        sys.stdout.write(f"{name:{width}}  {shown}\n")
    sys.stdout.flush()
