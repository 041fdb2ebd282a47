"""A script in a process of its own that begins as a copy of this one: seconds quicker, as nothing is imported anew.

For what a process alone can show: a terminal, signals, the log on stderr. What a fresh interpreter shows (imports,
warnings, the command line) needs `run_script`.
"""

import logging
import os
import runpy
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from support.scripts import ROOT, without_drawings


class Process:
    """A copy of this process, known as ``pid``, that calls ``run`` and ends with the status that it returns."""

    def __init__(self, run: Callable[[], int]) -> None:
        self.status: int | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12, of threads: the copy has none
            self.pid = os.fork()
        if self.pid == 0:
            status = 70
            try:
                status = run()
            finally:
                os._exit(status)

    def poll(self) -> int | None:
        """The exit status, or the number of a signal with a minus; None while it runs."""
        if self.status is None:
            ended, how = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(how) if ended else None
        return self.status

    def wait(self, timeout: float = 300.0) -> int:
        """The same, after its end; TimeoutError."""
        end = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"it still runs after {timeout} s")
            time.sleep(0.02)
        return status

    def send_signal(self, number: int) -> None:
        """Send it, if the process has not ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it, whatever it does."""
        self.send_signal(signal.SIGKILL)
        self.wait()


class Forked(Process):
    """src/``script``, running. stdin, stdout, stderr: file descriptors, None for those of nobody.

    others: the other ends of those if they are pipes, which this process alone is to hold.
    """

    def __init__(
        self,
        script: str,
        *arguments: str,
        cwd: Path,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        others: Sequence[int] = (),
        **environment: str,
    ) -> None:
        def run() -> int:
            for descriptor in others:
                os.close(descriptor)
            os.chdir(cwd)
            connect(stdin, stdout, stderr)
            clean = {n: v for n, v in os.environ.items() if not n.startswith(("WANDB", "UNROLLED_C", "PYTEST"))}
            path = str(ROOT / "src" / script)
            return _run(clean | {"NETRC": os.devnull} | environment, [path, *arguments], runpy.run_path, path)

        super().__init__(run)


def connect(*streams: int | None) -> None:
    """Let standard input, output and error of this process be ``streams``."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, stream in enumerate(streams):
        os.dup2(nothing if stream is None else stream, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115


def _run(environment: Mapping[str, str], argv: Sequence[str], start: Callable[..., object], what: str) -> int:
    """The same `without_drawings`."""
    with without_drawings():
        return as_fresh(environment, argv, start, what)


def as_fresh(environment: Mapping[str, str], argv: Sequence[str], start: Callable[..., object], what: str) -> int:
    """``what`` as a fresh interpreter would run it; its exit status."""
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().handlers.clear()  # pytest's
    sys.argv = list(argv)
    status = 0
    try:
        start(what, run_name="__main__")
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def run_forked(script: str, *arguments: str, cwd: Path, status: int = 0, **environment: str) -> None:
    """Run it to its end; the test fails if that is not ``status``."""
    log = cwd / ".log"
    with log.open("wb") as stream:
        found = Forked(script, *arguments, cwd=cwd, stderr=stream.fileno(), **environment).wait()
    said = log.read_text(encoding="utf-8")
    log.unlink()
    assert found == status, f"status {found}\n{said[-4000:]}"
