"""Running the project's scripts as a user does, for the end-to-end tests."""

import io
import json
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from PIL import Image

from support.composed_once import composed_once
from unrolled.runs import provenance

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent

# A corpus and a model so small that a run takes seconds
TINY = [f"data.{option}" for option in ["grammar.pairs=200", "grammar.validation_pairs=12", "grammar.test_pairs=11"]]
TINY += [f"data.{option}" for option in ["grammar.max_length=9", "grammar.vocabulary_size=40", "max_tokens=200"]]
TINY_MODEL = ["model.embedding_size=8", "model.encoder_size=6", "model.decoder_size=12"]

# After TINY: shorter sentences and fewer of them, in 5 updates an epoch
SHORT = [f"data.grammar.{option}" for option in ["pairs=75", "min_length=3", "max_length=5"]]
SHORT += ["data.grammar.validation_pairs=5", "data.grammar.test_pairs=4", "data.max_tokens=100"]


def run_script(
    script: str, *arguments: str, cwd: Path, status: int | None = 0, text: str | None = None, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Run src/``script`` in ``cwd``; the test fails if it does not end with ``status``.

    environment: variables of it, None for one that is not there.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("WANDB", "UNROLLED_C"))}
    given = clean | {"OMP_NUM_THREADS": "1", "NETRC": os.devnull} | environment
    done = subprocess.run(
        [sys.executable, str(ROOT / "src" / script), *arguments],
        cwd=cwd,
        env={name: value for name, value in given.items() if value is not None},
        input=text or "",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    if status is not None:
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done


_entry_points = cache(entry_points)
_git = cache(provenance._git)


@contextmanager
def without_drawings() -> Iterator[None]:
    """Pictures are a dot, and training draws no curves: drawing takes most of the time of a comparison."""
    with patch("unrolled.figures.formats._draw", _draw_nothing), patch("unrolled.figures.curves.save_curves"):
        yield


@contextmanager
def _without_looking() -> Iterator[None]:
    """Training neither shows nor records where a model looks, which takes a fifth of a tiny one."""
    with (
        patch("unrolled.training.callbacks.pictures.Pictures._show"),
        patch("unrolled.training.callbacks.attention_record.AttentionRecord._add", return_value=False),
    ):
        yield


def _draw_nothing(figure: object, to: Path | io.BytesIO, form: str) -> None:
    if isinstance(to, Path):
        Image.new("L", (1, 1)).save(to, form)  # W&B reads what it is given


@contextmanager
def asked_once() -> Iterator[None]:
    """Lightning looks through the installed packages, and we ask git for the commit, once in this process."""
    with (
        patch("lightning.fabric.utilities.registry.entry_points", _entry_points),
        patch("unrolled.runs.provenance._git", _git),
    ):
        yield


class Called(NamedTuple):
    """How a script ended: exit status, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def call_script(
    script: str, *arguments: str, cwd: Path, text: str | bytes = "", drawings: bool = False, looking: bool = False
) -> Called:
    """Run src/``script`` as `run_script` does, but inside this process: seconds quicker. An error is raised.

    Without the log, which pytest keeps, `without_drawings`, and without training's looking at attention, unless they
    are asked for; ``trained`` has all three.
    """
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    status = 0
    with (
        patch.object(sys, "argv", [str(ROOT / "src" / script), *arguments]),
        patch.object(
            sys, "stdin", io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "utf-8")
        ),
        patch.dict(os.environ, {"NETRC": os.devnull, "UNROLLED_CACHE": str(cwd / "cache")}),
        nullcontext() if drawings else without_drawings(),
        nullcontext() if looking else _without_looking(),
        asked_once(),
        composed_once(),
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in [name for name in os.environ if name.startswith("WANDB")]:
            del os.environ[name]
        os.environ["WANDB__SAVE_REQUIREMENTS"] = "false"  # it reads the metadata of all packages, every time
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            status = int(end.code or 0)
    out.flush()
    return Called(status, out.buffer.getvalue().decode(), err.getvalue())


def fork_script(script: str, *arguments: str, cwd: Path, log: Path | None = None) -> int:
    """Run src/``script`` in a process of its own, which begins as a copy of this one; returns how that ended.

    As `call_script`, for scripts that signals end. A status, or the number of a signal with a minus. log: gets what the
    script wrote to standard error.
    """
    return os.waitstatus_to_exitcode(os.waitpid(_fork(script, *arguments, cwd=cwd, log=log), 0)[1])


@contextmanager
def forked(script: str, *arguments: str, cwd: Path) -> Iterator[int]:
    """The id of a process that begins as `fork_script`'s does, and is killed after the block."""
    process = _fork(script, *arguments, cwd=cwd)
    try:
        yield process
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _fork(script: str, *arguments: str, cwd: Path, log: Path | None = None) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12, of threads: the copy has none
        process = os.fork()
    if process == 0:
        status = 70
        try:
            done = call_script(script, *arguments, cwd=cwd)
            if log is not None:
                log.write_text(done.stderr, encoding="utf-8")
            status = done.status
        finally:
            os._exit(status)
    return process


def write_pair(folder: Path, name: str, source: Sequence[str], target: Sequence[str]) -> str:
    """Write ``name``.source and ``name``.target; returns the option's value '[SOURCE,TARGET]'."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{side}" for side in ("source", "target")]
    for path, lines in zip(paths, (source, target), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return f"[{paths[0]},{paths[1]}]"


def train(cwd: Path, *arguments: str, folder: str = "run", looking: bool = False) -> Path:
    """Train into ``cwd``/``folder``, inside this process, and return that folder."""
    done = call_script("train.py", *arguments, f"hydra.run.dir={folder}", cwd=cwd, looking=looking)
    assert done.status == 0, done.stderr
    return cwd / folder


def results(folder: Path) -> dict:
    """results.json of a run folder."""
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))
