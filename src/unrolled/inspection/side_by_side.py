"""Records of several runs for one page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unrolled.errors import UserError
from unrolled.inspection import record
from unrolled.inspection.page import Shown
from unrolled.runs.folder import short_names


def read_runs(folders: Sequence[Path]) -> list[Shown]:
    """The records of run folders, under distinct names.

    Sentences are matched by their position among those recorded. UserError: a run without a record; runs without a
    common sentence at the same position.
    """
    records = [_read(folder) for folder in folders]
    first = _sentences(records[0])
    for folder, snapshots in zip(folders[1:], records[1:], strict=True):
        if not first & _sentences(snapshots):
            raise UserError(
                f"runs=[...]: {folders[0]} and {folder} recorded attention on different sentences: only runs "
                "on the same data can be shown side by side"
            )
    names = [snapshots[-1].get("run", "") for snapshots in records]
    if len(set(names)) < len(names):
        folder_names = short_names([str(folder) for folder in folders])
        names = [f"{name} ({folder})" for name, folder in zip(names, folder_names, strict=True)]
    return [Shown(name, snapshots) for name, snapshots in zip(names, records, strict=True)]


def _read(folder: Path) -> list[dict[str, Any]]:
    if not folder.is_dir():
        raise UserError(f"runs={folder}: there is no such folder; name one that a training wrote its results to")
    snapshots = record.read(folder)
    if not snapshots:
        raise UserError(
            f"runs={folder}: there is no attention in {folder / record.FILE}: name the folder of a translator that has "
            "been validated, trained with callbacks.attention_record"
        )
    return snapshots


def _sentences(snapshots: Sequence[dict[str, Any]]) -> set[tuple[str, int, str]]:
    """Split, position and text of all sentences."""
    kept = ((snapshot["split"], enumerate(snapshot["sentences"])) for snapshot in snapshots)
    return {(split, place, sentence["text"]) for split, sentences in kept for place, sentence in sentences}
