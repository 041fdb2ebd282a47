"""What of ours a reader opens between a command and what it is about, found out by watching it run.

The way has two parts. Building: what is on the call stack when the model is constructed. Computing: what is on the call
stack when the goal is entered (a training step, a search), and every function of ours that runs inside the goal until
it returns for the first time. Left out is what decides nothing about the result: the rest of the building (data,
callbacks, checks, initial values), what surrounds the command's own function (`command`, `launch`, which call it with
the configuration), and what answers in place of a module of torch until that is needed. Class bodies and modules being
imported are no functions.

A name is a module's function, or a class, however many of its methods run.
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from support.scripts import ROOT

PACKAGE = f"{ROOT / 'src' / 'unrolled'}/"
AROUND = ("configuration/command.py", "configuration/launch.py")
OF_TORCH = "training/postponed_compiler.py"
Way = dict[str, list[str]]
"""File in src/unrolled -> its names, both in the order in which they are first met."""


class Watch:
    """As a context: notes the way from ``start``, a function by its file and name, to ``goal``, by its name."""

    def __init__(self, start: tuple[str, str], goal: str, built: str) -> None:
        self._start, self._goal, self._built = start, goal, built
        self.way: Way = {}
        self.executed: set[tuple[str, str]] = set()
        """(file, function) of ours that ran from the start to the end of the goal, whatever for."""
        self._running = self._inside = False
        self._goal_frame: FrameType | None = None

    def __enter__(self) -> "Watch":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        assert self.way, "the goal was never reached"

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "return" and frame is self._goal_frame:
            sys.setprofile(None)
            return
        found = _of_ours(frame) if event == "call" else None
        if found is None:
            return
        self._running = self._running or found == self._start
        if not self._running:
            return
        self.executed.add(found)
        if found[1] == self._built or (found[1] == self._goal and self._goal_frame is None):
            for above in _stack(frame, self._start):
                self._add(above)
        if found[1] == self._goal and self._goal_frame is None:
            self._goal_frame = frame
        if self._goal_frame is not None:
            self._add(found)

    def _add(self, found: tuple[str, str]) -> None:
        file, function = found
        names = self.way.setdefault(file, [])
        name = function.partition(".")[0]
        if file not in AROUND and name not in names:
            names.append(name)

    @property
    def names(self) -> int:
        """How many."""
        return sum(map(len, self.way.values()))

    def listed(self) -> str:
        """The way as Markdown: a line for each file."""
        rows = (f"| `{file}` | {', '.join(f'`{name}`' for name in names)} |" for file, names in self.way.items())
        return "\n".join(["| file | names |", "|---|---|", *rows])


def _of_ours(frame: FrameType) -> tuple[str, str] | None:
    code = frame.f_code
    if not code.co_filename.startswith(PACKAGE) or not code.co_flags & inspect.CO_OPTIMIZED:
        return None
    if code.co_filename.endswith(OF_TORCH):
        return None
    if code.co_flags & inspect.CO_GENERATOR and frame.f_lasti == 0:  # closed before it began, as Python 3.11 tells
        return None
    return code.co_filename.removeprefix(PACKAGE), code.co_qualname


def _stack(frame: FrameType | None, start: tuple[str, str]) -> list[tuple[str, str]]:
    """Ours from ``start`` down to ``frame``."""
    found = []
    while frame is not None:
        if (ours := _of_ours(frame)) is not None:
            found.append(ours)
            if ours == start:
                break
        frame = frame.f_back
    return found[::-1]


def watched(start: tuple[str, str], goal: str, built: str, run: Callable[[], Any]) -> Watch:
    """The way that ``run`` takes."""
    with Watch(start, goal, built) as watch:
        run()
    return watch


def between(path: Path, begin: str, end: str) -> str:
    """The text of a page between two marks."""
    return path.read_text(encoding="utf-8").split(begin)[1].split(end)[0].strip()
