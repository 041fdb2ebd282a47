"""Resuming a run: what its folder says, and what a new training in the same folder removes."""

import logging
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from unrolled.errors import UserError
from unrolled.files import clean, reading, write_text
from unrolled.runs.results import read_results, write_results

log = logging.getLogger(__name__)

LAST = Path("checkpoints") / "last.ckpt"
NEXT = ".next.yaml"
"""The configuration of a new training until nothing of an earlier one is left in the folder."""
OF_A_TRAINING = (
    *("results.json", "weights.safetensors", "checkpoints/*.ckpt", "checkpoints/kept/*", "translations/*.txt"),
    *("tokenizer/*", "tokenizer/*/*", "lexicon.npz", "average-*/*"),
    *("gradient_norms.csv", "attention.html", "attention.jsonl"),
    *("memory-test.csv", "memory-val.csv", "probe-test.csv", "probe-val.csv"),
    *("figures/curves.*", "figures/gradient-norms.*", "figures/test-[0-9]*", "figures/val-[0-9]*"),
)
"""What another training in the folder would write anew, or leave there as if it were its own."""


def status(folder: Path) -> str | None:
    """How the run ended by results.json: completed, diverged, pruned, interrupted, failed; None if it was killed."""
    if not (folder / "results.json").is_file():
        return None
    ending = read_results(folder).get("status")
    return None if ending is None else str(ending)


def check_resumable(folder: Path) -> None:
    """UserError: a run whose loss became NaN or infinite."""
    if status(folder) == "diverged":
        raise UserError(
            f"resume={folder}: this run diverged and would diverge again: train a new one with a smaller optimizer.lr,"
            " or with trainer.gradient_clip_val"
        )


def check_checkpoint(folder: Path) -> None:
    """UserError: weights without a checkpoint, such as an average, which training from the beginning would replace."""
    if (folder / "weights.safetensors").is_file() and last_checkpoint(folder) is None:
        raise UserError(
            f"resume={folder}: there is no {LAST}, only the weights that a training, average.py or import_weights.py "
            "has left: nothing can be resumed"
        )


def check_replaceable(folder: Path) -> None:
    """UserError: a run that a new training in the same folder would remove, unless it failed or diverged."""
    if not any((folder / name).is_file() for name in ("results.json", "weights.safetensors", LAST)):
        return
    ending = status(folder)
    if ending in ("failed", "diverged"):
        return
    instead = "give another folder, hydra.run.dir=DIR, or remove that run"
    if ending in (None, "interrupted") and last_checkpoint(folder):
        instead = f"continue it with resume={folder}, or {instead}"
    raise UserError(f"{folder} has a run in it{_ended(folder)}, which a new training would replace: {instead}")


def last_checkpoint(folder: Path) -> Path | None:
    """Where training resumes, None if it ended before the first checkpoint."""
    return folder / LAST if (folder / LAST).is_file() else None


class Progress(NamedTuple):
    """What a run has behind it. seconds: of training, if trainer.max_time counted them."""

    updates: int = 0
    epochs: int = 0
    seconds: float = 0.0


def progress(folder: Path) -> Progress:
    """How far the run had come when its last checkpoint was written."""
    import torch  # few commands ask

    last = last_checkpoint(folder)
    if last is None:
        return Progress()
    with reading(last):
        state = torch.load(last, map_location="cpu", weights_only=True, mmap=True)
        elapsed = state["callbacks"].get("Timer", {}).get("time_elapsed", {}).get("train", 0.0)
        return Progress(int(state["global_step"]), int(state["epoch"]), float(elapsed))


def begun(folder: Path) -> tuple[int, int] | None:
    """What tells the last `begin` in the folder from others; None if there was none."""
    config = folder / "config.yaml"
    if not config.is_file():
        return None
    facts = config.stat()
    return facts.st_ino, facts.st_mtime_ns


def begin(folder: Path, config: str, *, resume: bool) -> None:
    """Write config.yaml, and clean up after killed writers.

    A run that had ended and is resumed is interrupted until it ends again. Unless the run is resumed, remove the
    results, weights and translations of an earlier run in the folder. UserError: a config.yaml that is not of a run.
    """
    if not resume:
        _check_ours(folder)
    clean(folder)
    if resume and status(folder) in ("completed", "pruned", "failed"):
        write_results(folder, read_results(folder) | {"status": "interrupted"})
    if not resume and (folder / "config.yaml").is_file():
        if any(path.is_file() for pattern in OF_A_TRAINING for path in folder.glob(pattern)):
            log.warning("%s: the run in this folder%s is replaced by this one", folder, _ended(folder))
        write_text(folder / NEXT, config)
        finish_beginning(folder)
    else:
        write_text(folder / "config.yaml", config)


def mark_interrupted(folder: Path) -> None:
    """A run is interrupted, not failed, if one of its processes was killed, without which the others cannot continue.

    So its sweep resumes it, and no new training removes its last checkpoint.
    """
    if status(folder) == "failed":
        write_results(folder, read_results(folder) | {"status": "interrupted"})


def _check_ours(folder: Path) -> None:
    """UserError: the folder has a config.yaml of another program, whose files a training would remove."""
    config = folder / "config.yaml"
    if config.is_file() and not re.search(rb"^(run_folder|choices)\s*:", config.read_bytes(), re.MULTILINE):
        raise UserError(f"{config} is not of a run: give another folder, hydra.run.dir=DIR, or move it away")


def _ended(folder: Path) -> str:
    with suppress(UserError):  # damaged results
        return f" ({ending})" if (ending := status(folder)) else ""
    return ""


def finish_beginning(folder: Path) -> None:
    """What `begin` had still to do in the folder when its process was killed: the earlier run gives way to the new."""
    if not (folder / NEXT).is_file():
        return
    for path in [path for pattern in OF_A_TRAINING for path in folder.glob(pattern)]:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # another process has done it
        write_text(folder / "config.yaml", (folder / NEXT).read_text(encoding="utf-8"))
        (folder / NEXT).unlink()


def moved(node: Any, old: str, new: str) -> Any:
    """``node``, made of plain dictionaries, lists and values, with paths in ``old`` replaced by paths in ``new``.

    If ``old`` is empty, nothing is replaced.
    """
    if isinstance(node, dict):
        return {moved(key, old, new): moved(value, old, new) for key, value in node.items()}
    if isinstance(node, list):
        return [moved(value, old, new) for value in node]
    inside = isinstance(node, str) and old != "" and (node == old or node.startswith(f"{old}/"))
    return new + node[len(old) :] if inside else node


def kept_checkpoints(states: dict[str, Any], folder: Path) -> list[Path]:
    """The best checkpoints that a checkpoint's callbacks remember, where they are now.

    ValueError: one outside the run ``folder``, which training would delete when it finds a better one.
    """
    recorded: list[str] = []
    for state in states.values():
        if isinstance(state, dict) and state.get("dirpath"):
            here = moved(state, str(state["dirpath"]), str(folder / "checkpoints"))
            recorded += [*(here.get("best_k_models") or {}), here.get("best_model_path"), here.get("last_model_path")]
            recorded += [here.get("kth_best_model_path")]
    paths = sorted({Path(path) for path in recorded if path})
    for path in paths:
        if ".." in path.parts or not path.is_relative_to(folder):
            raise ValueError(f"{path} is not in the run folder")
    return [path for path in paths if path.name != LAST.name]
