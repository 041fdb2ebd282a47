"""Files appear whole or not at all: whatever ends the writer, the old one stays, and what it left is cleaned up."""

import importlib
import os
import resource
import signal
import socket
import stat
import time

import pytest

import unrolled.files
from unrolled.files import appearing, clean, is_writable, write_bytes, write_text

HERE = socket.gethostname().partition(".")[0][:40]


def in_another_process(work):
    """How it ended: its status, or minus the signal."""
    process = os.fork()
    if process == 0:
        status = 70
        try:
            status = work() or 0
        finally:
            os._exit(status)
    return process, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed_while_writing(path):
    def work():
        with appearing(path) as partial:
            partial.write_text("half of it")
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_another_process(work)[1] == -signal.SIGKILL


def test_a_killed_writer_leaves_the_old_file_and_its_leftover_is_cleaned(tmp_path):
    path = tmp_path / "checkpoints" / "last.ckpt"
    write_text(path, "old")
    killed_while_writing(path)
    assert path.read_text() == "old"
    assert len(os.listdir(path.parent)) == 2
    clean(tmp_path)
    assert os.listdir(path.parent) == ["last.ckpt"]


def test_whoever_writes_the_file_again_removes_what_a_killed_writer_left(tmp_path):
    killed_while_writing(tmp_path / "figure[1].pdf")
    (tmp_path / f".figure[1].pdf.{HERE}-{os.getppid()}-0123456789abcdef.partial").touch()  # a living writer's
    write_text(tmp_path / "other", "new")
    assert len(os.listdir(tmp_path)) == 3
    write_text(tmp_path / "figure[1].pdf", "new")
    assert len(os.listdir(tmp_path)) == 3
    assert (tmp_path / "figure[1].pdf").read_text() == "new"


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o002, 0o664)])
def test_a_file_is_for_those_for_whom_all_of_the_users_files_are(umask, mode, tmp_path):
    def work():
        os.umask(umask)
        files = importlib.reload(unrolled.files)
        with files.appearing(tmp_path / "file") as partial:
            partial.touch(mode=0o640)  # as a library may that keeps its temporary files to itself

    assert in_another_process(work)[1] == 0
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_what_nobody_may_look_into_is_not_writable(tmp_path, monkeypatch):
    """As the home of root is not, where a container's user has that home."""
    (tmp_path / "closed" / "home").mkdir(parents=True)
    look = os.stat

    def closed(path, **options):
        if str(path).startswith(f"{tmp_path}/closed/"):
            raise PermissionError(13, "Permission denied")
        return look(path, **options)

    assert is_writable(tmp_path / "closed" / "home" / "new")
    monkeypatch.setattr(os, "stat", closed)
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "closed")
    assert not is_writable(tmp_path / "closed" / "home" / "new")


def test_a_file_system_without_modes_holds_files_too(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.chmod", refuse)
    write_text(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    did, replace = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: did.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(os, "replace", lambda *paths: [did.append("renamed"), replace(*paths)])
    write_text(tmp_path / "weights", "new")
    assert did == [(tmp_path / "weights").stat().st_ino, "renamed", tmp_path.stat().st_ino]


def test_what_a_living_writer_is_at_is_left_alone(tmp_path):
    living = [
        f".a.{HERE}-{os.getppid()}-0123456789abcdef.partial",
        f".a.{HERE}-{os.getpid()}-0123456789abcdef.partial",
        ".a.another-1-0123456789abcdef.partial",
        ".a.mine.partial",
    ]
    old = [".a.another-2-0123456789abcdef.partial", f".a.{HERE}-{os.getpid()}-0000456789abcdef.partial"]
    for name in [*living, *old]:
        (tmp_path / name).touch()
    os.utime(tmp_path / old[0], (0, 0))
    os.utime(tmp_path / old[1], (time.time() - 3600,) * 2)  # another process had this number before us
    clean(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(living)


def test_a_living_writer_here_is_left_alone_for_more_than_a_day(tmp_path):
    """As its file looks after the machine slept, or its clock was set."""
    for process in (os.getppid(), 1):
        partial = tmp_path / f".a.{HERE}-{process}-0123456789abcdef.partial"
        partial.touch()
        os.utime(partial, (time.time() - 2 * 86_400,) * 2)
    clean(tmp_path)
    assert len(os.listdir(tmp_path)) == 2


def test_a_full_disk_changes_nothing_and_says_which_file(tmp_path):
    path = tmp_path / "weights"
    write_bytes(path, b"old")

    def work():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_bytes(path, bytes(2000))
        except OSError as problem:
            return 0 if problem.filename == str(path) else 1
        return 2

    assert in_another_process(work)[1] == 0
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["weights"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_all_may_read(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "a", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644
