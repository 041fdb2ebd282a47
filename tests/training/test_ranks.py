"""Several processes end together: with the one that started them, however it ends, and with each other."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.forked import Process
from support.scripts import ROOT

from unrolled.errors import UserError
from unrolled.training.ranks import end_with, processes, run_ranks

START = """
import logging, os, signal
from unrolled.training.ranks import run_ranks
logging.basicConfig()
signal.signal(signal.SIGUSR2, print)  # as submitit has one, which queues the job again
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also if the tests run by nohup
run_ranks("support.waiting_rank", {"FOLDER": os.environ["FOLDER"]}, 2)
"""


def until(true):
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("not within a minute")


def runs(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
        return False


@pytest.fixture
def started(tmp_path):
    """The process that starts two, and those two."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("src", "tests"))
    environment = os.environ | {"FOLDER": str(tmp_path), "PYTHONPATH": path}
    parent = subprocess.Popen([sys.executable, "-c", START], env=environment, stderr=subprocess.PIPE, text=True)
    files = [tmp_path / f"process-{rank}" for rank in range(2)]
    until(lambda: all(file.exists() for file in files))
    ranks = [int(file.read_text()) for file in files]
    yield parent, ranks
    for process in (parent.pid, *ranks):
        if runs(process):
            os.kill(process, signal.SIGKILL)
    parent.communicate()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux which processes there are")
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGUSR2])
def test_processes_end_with_their_parent_and_may_save(sign, started, tmp_path):
    parent, ranks = started
    parent.send_signal(sign)
    until(lambda: not any(map(runs, ranks)))
    assert all((tmp_path / f"saved-{rank}").exists() for rank in range(2))
    if sign == signal.SIGUSR2:  # which the caller hears as the end of a training that may be queued again
        _, said = parent.communicate(timeout=60)
        assert parent.returncode == 128 + signal.SIGUSR2
        assert "Traceback" not in said


def test_a_job_that_joblib_started_ends_with_the_command(tmp_path):
    def saved(*_):
        (tmp_path / "saved").touch()
        os._exit(130)

    def work():
        signal.signal(signal.SIGTERM, saved)
        end_with(os.getppid())
        time.sleep(1.5)  # the command is looked for more than once
        (tmp_path / "works").touch()
        time.sleep(60)
        return 0

    def command():
        Process(work)
        time.sleep(60)
        return 0

    running = Process(command)
    until((tmp_path / "works").exists)
    assert not (tmp_path / "saved").exists()
    running.kill()
    until((tmp_path / "saved").exists)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux which processes there are")
def test_a_killed_process_has_a_line_and_ends_the_others(started, tmp_path):
    parent, ranks = started
    os.kill(ranks[1], signal.SIGKILL)
    _, said = parent.communicate(timeout=60)
    assert parent.returncode == 1
    assert "process 2 of 2" in said
    assert "SIGKILL" in said
    assert (tmp_path / "saved-0").exists()
    assert "Traceback" not in said


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux which processes there are")
def test_a_signal_to_one_process_lets_the_others_end_by_themselves(started, tmp_path):
    """Another signal would end them while they write results.json."""
    parent, ranks = started
    os.kill(ranks[1], signal.SIGTERM)
    _, said = parent.communicate(timeout=60)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert (tmp_path / "told-0").exists()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_break_off_a_look_at_a_process(sign, tmp_path, monkeypatch):
    """Popen.poll holds a lock, and an exception from a handler could leave it held: the next wait would be in vain."""
    monkeypatch.setenv("FOLDER", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    looks = []

    class Child(subprocess.Popen):
        def poll(self):
            looks.append("begun")
            if len(looks) == 1:
                signal.raise_signal(sign)
            looks.append("ended")
            return super().poll()

    monkeypatch.setattr(subprocess, "Popen", Child)
    with pytest.raises(KeyboardInterrupt):
        run_ranks("support.waiting_rank", {}, 1)
    assert looks.count("begun") == looks.count("ended") > 0


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux which files are open")
def test_a_process_that_cannot_be_started_leaves_no_file_open(monkeypatch):
    def fail(*_, **__):
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", fail)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="no memory"):
        run_ranks("support.waiting_rank", {}, 1)
    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize(("given", "each"), [(None, "3"), ("5", "5")])
def test_processes_share_the_cores_that_they_may_use(given, each, monkeypatch):
    seen = []

    def fail(*_, env, **__):
        seen.append(env["OMP_NUM_THREADS"])
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", fail)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    with pytest.raises(OSError, match="no memory"):
        run_ranks("support.waiting_rank", {}, 2)
    assert seen == [each]


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork_find_unused_parameters_true", "ddp_notebook"])
@pytest.mark.parametrize("devices", [1, 2])
def test_processes_that_lightning_would_start_are_refused(strategy, devices):
    with pytest.raises(UserError, match=rf"^trainer\.strategy={strategy}: give ddp; "):
        processes("cpu", devices, strategy)
