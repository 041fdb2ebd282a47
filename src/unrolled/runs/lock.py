"""One writer to a run folder: a lock that ends with the process that holds it, and a note of who that is."""

import errno
import fcntl
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from unrolled.errors import UserError
from unrolled.files import is_alive

log = logging.getLogger(__name__)

FILE = ".lock"
HELD = (errno.EACCES, errno.EAGAIN)
BYTES = 2  # the first is the process' own, the second that of the first process it starts, which may outlive it
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to ``folder`` during the block. UserError names the one that does.

    It is a POSIX lock, which NFS has too: the system releases it when the process ends, however it ends. On a file
    system without locks, or with locks that hold on one machine only, the file says who holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    descriptor = _open(path, 0, BYTES)
    try:
        with suppress(OSError):
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, 1)
        left = _holder(descriptor)
        if left:
            log.info("%s was left behind by process %s on %s: taken over", folder, left["process"], left["host"])
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        holder = {"process": os.getpid(), "host": socket.gethostname(), "since": now}
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        except OSError as problem:  # which names no file, as for a full disk
            raise OSError(problem.errno, problem.strerror, str(path)) from problem
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before it is released: whoever waits for this very file checks that it is still there
        os.close(descriptor)


@contextmanager
def locked_with_parent(folder: Path) -> Iterator[None]:
    """Like `locked`, in a process that the holder of the lock has started."""
    descriptor = _open(folder / FILE, 1, 1)
    try:
        yield
    finally:
        os.close(descriptor)


def _open(path: Path, start: int, length: int) -> int:
    """The lock's open file, ``length`` bytes of which this process then holds."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError as problem:
            holder = _holder(descriptor)
            here = holder.get("host") == socket.gethostname() and holder.get("process") != os.getpid()
            if problem.errno in HELD or (here and is_alive(holder["process"])):
                os.close(descriptor)
                raise _refusal(path.parent, holder) from problem
            if problem.errno not in WITHOUT_LOCKS:
                os.close(descriptor)
                raise
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        os.close(descriptor)  # its holder removed it meanwhile


def _holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(descriptor, 1000, 0))
        return {"process": int(holder["process"]), "host": str(holder["host"]), "since": str(holder["since"])}
    except (ValueError, TypeError, KeyError):  # empty: it has just been made
        return {}


def _refusal(folder: Path, holder: dict[str, Any]) -> UserError:
    who = (
        "process {process} on {host} has been at it since {since}".format(**holder) if holder else "a process is at it"
    )
    return UserError(f"{folder}: {who}: wait until it ends, stop it, or name another folder")
