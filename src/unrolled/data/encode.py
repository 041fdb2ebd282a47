"""A text file to token ids, as fast as the tokenizer: while it works on some lines, the previous ones are written."""

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from unrolled.text.lines import count_line_feeds, read_lines
from unrolled.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from rich.progress import Progress

CHUNK = 5_000  # lines at a time
LONG = 2.0  # seconds after which a notice reports the speed

log = logging.getLogger(__name__)


def encode(text: Path, tokenizer: Tokenizer) -> Iterator[list[int]]:
    """The ids of every line of ``text``, with a progress bar on a terminal. UserError: what `read_lines` refuses.

    SentencePiece uses all cores and lets other threads run meanwhile, so one chunk is always prepared ahead.
    """
    lines = read_lines(text)
    start, done = time.perf_counter(), 0
    with _bar() as bar, ThreadPoolExecutor(max_workers=1) as ahead:
        task = bar.add_task(f"{text.name} to token ids", total=count_line_feeds(text))
        following = ahead.submit(tokenizer.encode, list(islice(lines, CHUNK)))
        while chunk := following.result():
            following = ahead.submit(tokenizer.encode, list(islice(lines, CHUNK)))
            yield from chunk
            done += len(chunk)
            bar.update(task, completed=done)
    seconds = time.perf_counter() - start
    if seconds > LONG:
        log.info("%s: %s lines to token ids in %.1f s", text, f"{done:,}", seconds)


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
