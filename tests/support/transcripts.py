"""Transcripts in docs/: the commands of ```console blocks, and what they should print."""

import doctest
import os
import re
from collections.abc import Mapping
from pathlib import Path

from support.scripts import ROOT
from support.shell import run_in_shell

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.,:]*(?:e[-+]?\d+)?(?!\w)")
FRACTION = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?|\d+e-\d+")
BUILD = re.compile(r"(?<=\d)\+(?:cpu|cu\d+)\b")  # of torch, after its version
MARK = "\x1e"


def commands(page: str, section: str = "") -> list[tuple[str, str]]:
    """The commands of docs/``page``, or of the section with that heading, each with what is printed below it."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    if section:
        text = re.split(rf"^## {re.escape(section)}\n", text, flags=re.MULTILINE)[1].partition("\n## ")[0]
    blocks = re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [
        (command, output)
        for block in blocks
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE)
    ]


def same(expected: str, printed: str, figures: re.Pattern[str] = NUMBER) -> bool:
    """Whether they are the same but for ``figures`` and white space; ``...`` is anything."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    expected, printed = (figures.sub("0", BUILD.sub("", text)) for text in (expected, printed))
    return doctest.OutputChecker().check_output(expected, printed, flags)


def replay(transcript: list[tuple[str, str]], folder: Path, shell: Path, smaller: Mapping[str, str]) -> int:
    """Run the commands in ``folder``, one after the other in one shell; the test fails where one prints something else.

    smaller: parts of commands, and what replaces them here to take less time; each must occur. Returns the number of
    commands.
    """
    lines = []
    for command, _ in transcript:
        for before, after in smaller.items():
            command = command.replace(before, after)
        lines.append(f"{command}\nprintf '{MARK}'; printf '{MARK}' >&2\n")
    for part in smaller:
        assert any(part in command for command, _ in transcript), f"{part} is in no command"
    without = ("WANDB", "UNROLLED", "PYTHONPATH", "COLUMNS")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    environment |= {"OMP_NUM_THREADS": "1", "NETRC": os.devnull}
    done = run_in_shell("".join(lines), cwd=folder, environment=environment, folder=shell)
    *outs, _ = done.stdout.split(MARK)
    *errs, _ = done.stderr.split(MARK)
    assert len(outs) == len(transcript)
    for (command, expected), out, err in zip(transcript, outs, errs, strict=True):
        shown = f"$ {command}\nexpected:\n{expected}\nprinted:\n{out}\non standard error:\n{err[-3000:]}"
        assert any(same(expected, printed) for printed in (out, err, err + out)), shown
    return len(transcript)
