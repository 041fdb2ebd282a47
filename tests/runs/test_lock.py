"""One process at a time trains in a run folder; who is refused reads which one does."""

import errno
import fcntl
import json
import os
import signal
from contextlib import suppress

import pytest

from unrolled.errors import UserError
from unrolled.runs.lock import locked, locked_with_parent


@pytest.fixture
def another():
    """Start ``work`` in another process, which has come to its end, or to wait for ever, when this returns."""
    started = []

    def start(work):
        ready, told = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                work(lambda: os.write(told, b"1"))
            finally:
                os._exit(3)
        started.append(process)
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def hold(lock, folder):
    def work(ready):
        with lock(folder):
            ready()
            signal.pause()

    return work


def refused(folder):
    with pytest.raises(UserError) as problem, locked(folder):
        pass
    return str(problem.value)


def test_a_second_writer_is_refused_with_the_name_of_the_first(tmp_path, another):
    process = another(hold(locked, tmp_path / "run"))
    line = refused(tmp_path / "run")
    assert f"process {process} on {os.uname().nodename}" in line
    assert str(tmp_path / "run") in line


def test_the_lock_ends_with_its_holder_and_leaves_nothing(tmp_path, another, caplog):
    process = another(hold(locked, tmp_path / "run"))
    os.kill(process, signal.SIGKILL)
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    with caplog.at_level("INFO"), locked(tmp_path / "run"):
        assert json.loads((tmp_path / "run" / ".lock").read_text())["process"] == os.getpid()
    assert f"process {process}" in caplog.text
    assert os.listdir(tmp_path / "run") == []
    with locked(tmp_path / "run"):  # and again
        pass


def test_a_child_that_outlives_its_parent_keeps_others_out(tmp_path, another):
    folder = tmp_path / "run"
    parent = another(hold(locked, folder))
    child = another(hold(locked_with_parent, folder))
    os.kill(parent, signal.SIGKILL)
    os.waitid(os.P_PID, parent, os.WEXITED | os.WNOWAIT)
    refused(folder)
    os.kill(child, signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    with locked(folder):
        pass


def test_without_locks_the_file_says_who_holds_it(tmp_path, another, monkeypatch):
    def missing(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", missing)
    process = another(hold(locked, tmp_path))
    assert f"process {process}" in refused(tmp_path)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with locked(tmp_path):
        pass


def test_a_full_disk_is_said_with_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("unrolled.runs.lock.os.pwrite", full)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/run/.lock'"), locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "run" / ".lock").exists()
