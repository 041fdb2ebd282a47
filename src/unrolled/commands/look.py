"""Show where a run looks, or several side by side, on a page for a browser.

Usage:
    python src/look.py runs=RUN [output=FILE]
    python src/look.py runs='[RUN,RUN]' [output=FILE]

Examples:
    python src/look.py runs=RUN
    python src/look.py runs=RUN output=attention.html
    python src/look.py runs='[RUN,RUN]' output=both.html

A run records its attention at every validation. The page needs neither network nor server: docs/look.md.
"""

import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.values import run_folders
from unrolled.errors import UserError
from unrolled.inspection.page import PAGE, write_page
from unrolled.inspection.side_by_side import read_runs


@command("look")
def main(config: DictConfig) -> None:
    if config.runs is None:
        raise UserError("runs=... is missing: name a run folder, or several to see side by side: runs='[A,B]'")
    folders = [Path(folder) for folder in run_folders(config, "runs")]
    output = Path(config.output or (folders[0] / PAGE if len(folders) == 1 else PAGE))
    if output.is_dir():
        raise UserError(f"output={output} is a folder: name the file to write")
    write_page(output, read_runs(folders))
    sys.stdout.write(f"{output}\n")
