"""Going on with a run: what stands in its folder, and what a new training in it leaves no trace of."""

from pathlib import Path
from typing import Any

from unrolled.errors import UserError
from unrolled.files import clean, write_text
from unrolled.runs.results import read_results

LAST = Path("checkpoints") / "last.ckpt"


def status(folder: Path) -> str | None:
    """How the run ended, as results.json says: completed, diverged or interrupted; None before it ended, or killed."""
    if not (folder / "results.json").is_file():
        return None
    found = read_results(folder).get("status")
    return None if found is None else str(found)


def check_resumable(folder: Path) -> None:
    """UserError: a run whose loss is no number any more."""
    if status(folder) == "diverged":
        raise UserError(
            f"resume={folder}: this run diverged, and would again: train anew with a smaller optimizer.lr,"
            " or with trainer.gradient_clip_val"
        )


def last_checkpoint(folder: Path) -> Path | None:
    """Where training goes on, None if it was ended before the first checkpoint."""
    return folder / LAST if (folder / LAST).is_file() else None


def begin(folder: Path, config: str, *, resume: bool) -> None:
    """Write config.yaml, clean up after killed writers.

    Of a run that does not go on, remove what an earlier one in the folder says of itself.
    """
    clean(folder)
    if not resume:
        for path in (folder / "results.json", folder / LAST):
            path.unlink(missing_ok=True)
    write_text(folder / "config.yaml", config)


def moved(node: Any, old: str, new: str) -> Any:
    """Plain dictionaries, lists and values, in which paths in the folder ``old`` are now in ``new``."""
    if isinstance(node, dict):
        return {moved(key, old, new): moved(value, old, new) for key, value in node.items()}
    if isinstance(node, list):
        return [moved(value, old, new) for value in node]
    inside = isinstance(node, str) and (node == old or node.startswith(f"{old}/"))
    return new + node[len(old) :] if inside else node
