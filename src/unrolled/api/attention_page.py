"""The page of recorded attention, as look.py writes it."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from unrolled.api.trained_run import TrainedRun
from unrolled.errors import UserError
from unrolled.files import path_of
from unrolled.inspection.page import PAGE, write_page
from unrolled.inspection.side_by_side import read_runs
from unrolled.runs.outputs import check_outputs

Run = str | PathLike[str] | TrainedRun


def look(runs: Run | Sequence[Run], output: str | PathLike[str] | None = None) -> Path:
    """Write the page that shows where a run looked at every validation, or several side by side; returns its path.

    output: the file; None: attention.html in the run folder, for several in the current folder. UserError: a run that
    has recorded no attention, runs on different sentences.
    """
    several = list(runs) if isinstance(runs, list | tuple) else [runs]
    folders = [run.folder if isinstance(run, TrainedRun) else path_of("run", run) for run in several]
    if not folders:
        raise UserError("runs=[]: name at least one run folder")
    ours = folders[0] / PAGE if len(folders) == 1 else Path(PAGE)
    path = ours if output is None else path_of("output", output)
    if path.is_dir():
        raise UserError(f"output={path} is a folder: name the file to write")
    check_outputs({"output": path}, ["output"])
    write_page(path, read_runs(folders))
    return path
