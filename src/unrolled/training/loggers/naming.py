"""How loggers name a run."""

from pathlib import Path


def run_name(name: str, folder: Path, group: str | None) -> str:
    """What was trained and the run folder, so that a run that is repeated has a name of its own.

    The folder of a job of a sweep says what was trained; that of the sweep is its ``group``.
    """
    return f"{name} {folder.name}" if group is None else f"{folder.name} {group}"
