"""Whether training a run again gave the same result."""

from pathlib import Path
from typing import Any

from unrolled.runs.results import read_results
from unrolled.text.lines import sha256

CHANGING = ("run", "peak_memory_mib", "train/target_tokens_per_second", "train/seconds", "train/cpu_seconds")
"""What depends on the folder and the machine's load, and is not compared."""


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """Both values of every figure that differs between two results.json, and by how much numbers differ."""
    changed = {}
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if name in CHANGING or old == new:
            continue
        changed[name] = f"{old} before, {new} now"
        if isinstance(old, int | float) and isinstance(new, int | float):
            changed[name] += f": {new - old:+.3g}"
    return changed


def compared(before: Path, after: Path) -> dict[str, str]:
    """What to show about two run folders: that figures and weights are identical, or what differs."""
    changed = differences(read_results(before), read_results(after))
    weights_of = [folder / "weights.safetensors" for folder in (before, after)]
    digests = {sha256(path) if path.is_file() else None for path in weights_of}
    if not changed and len(digests) == 1:
        return {"reproduction": "identical: every figure and every weight"}
    weights = "the same" if len(digests) == 1 else "different"
    figures = f"{len(changed)} differ" if changed else "the same"
    return {"reproduction": f"not identical: figures {figures}, weights {weights}", **changed}
