"""Files that a command may write: none that it reads, and none that a run consists of."""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from unrolled.errors import UserError

OF_A_RUN = ("config.yaml", "provenance.json", "results.json", "metrics.csv", "weights.safetensors", "attention.jsonl")
"""Files that a run consists of."""
FOLDERS_OF_A_RUN = ("checkpoints", "tokenizer", "translations")
"""Folders of a run, all files of which belong to it."""


def check_outputs(options: Mapping[Any, Any], outputs: Iterable[str], inputs: Iterable[str] = ()) -> None:
    """UserError for an output that is an input, another output, standard input or output, or belongs to a run.

    options: the path of every output and input, None if it is not given.
    """
    written, read = (
        {f"{name}={options[name]}": Path(options[name]) for name in names if options[name] is not None}
        for names in (outputs, inputs)
    )
    for output, path in written.items():
        for other, its in (read | {name: its for name, its in written.items() if name != output}).items():
            if _same(path, its):
                raise UserError(f"{output} and {other} are the same file: give {output.partition('=')[0]} another one")
        for stream in _streams_to(path):
            raise UserError(f"{output}: this file is {stream}: name another one")
        run = _run_of(path)
        if run is not None:
            raise UserError(f"{output}: this file belongs to the run {run}: name another one")


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.is_file() and one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _streams_to(path: Path) -> Iterator[str]:
    """Standard input or output if it is the file ``path``."""
    for stream, name in ((sys.stdin, "standard input"), (sys.stdout, "standard output")):
        with suppress(OSError, AttributeError, ValueError):  # no such file, a closed stream, none of the system
            facts = os.fstat(stream.fileno())
            if stat.S_ISREG(facts.st_mode) and os.path.samestat(facts, path.stat()):
                yield name


def _run_of(path: Path) -> Path | None:
    """The run folder that the file ``path`` belongs to, None if there is none."""
    real = Path(os.path.realpath(path))
    folder = real.parent
    if real.name in OF_A_RUN and (folder / "config.yaml").is_file():
        return folder
    for inner in (folder, folder.parent):
        if inner.name in FOLDERS_OF_A_RUN and (inner.parent / "config.yaml").is_file():
            return inner.parent
    return None
