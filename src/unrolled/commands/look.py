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

from omegaconf import DictConfig

from unrolled.api.attention_page import look
from unrolled.configuration.command import command
from unrolled.configuration.values import run_folders
from unrolled.errors import UserError


@command("look")
def main(config: DictConfig) -> None:
    if config.runs is None:
        raise UserError("runs=... is missing: name a run folder, or several to see side by side: runs='[A,B]'")
    sys.stdout.write(f"{look(run_folders(config, 'runs'), config.output)}\n")
