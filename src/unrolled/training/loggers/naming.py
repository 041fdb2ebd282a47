"""How loggers name a run."""

from pathlib import Path


def run_name(name: str, folder: Path, group: str | None) -> str:
    """What was trained and the run folder, so that a repeated run has a name of its own.

    In a sweep, a job's folder says what was trained, and the sweep's folder is its ``group``.
    """
    return f"{name} {folder.name}" if group is None else f"{folder.name} {group}"
