"""Whether a run that was trained again came out the same."""

import hashlib
from pathlib import Path
from typing import Any

from unrolled.runs.results import read_results

CHANGING = ("run", "train/target_tokens_per_second", "peak_memory_mib")
"""What depends on the folder and the machine's mood, and is not compared."""


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """Of every figure that is not the same in two results.json both values, and by how much numbers differ."""
    found = {}
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if name in CHANGING or old == new:
            continue
        found[name] = f"{old} before, {new} now"
        if isinstance(old, int | float) and isinstance(new, int | float):
            found[name] += f": {new - old:+.3g}"
    return found


def compared(before: Path, after: Path) -> dict[str, str]:
    """What to show of two run folders: that they are identical, figures and weights, or what differs."""
    found = differences(read_results(before), read_results(after))
    digests = {_digest(folder / "weights.safetensors") for folder in (before, after)}
    if not found and len(digests) == 1:
        return {"reproduction": "identical: every figure and every weight"}
    weights = "the same" if len(digests) == 1 else "different"
    figures = f"{len(found)} differ" if found else "the same"
    return {"reproduction": f"not identical: figures {figures}, weights {weights}", **found}


def _digest(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
