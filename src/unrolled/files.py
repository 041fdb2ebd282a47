"""Writes what must survive: files and folders that appear whole or not at all, whatever ends the process.

A file is written next to its place, flushed to the disk and renamed; then its folder is flushed too, so that after a
power failure there is the old file or the new one. What a killed writer leaves behind is recognised by its name.
"""

import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any

from unrolled.errors import UserError

DAY = 86_400.0  # seconds without a change after which a file counts as abandoned if its writer cannot be checked
_BEGAN = time.time()
_UMASK = os.umask(0)  # it can only be read by setting it
os.umask(_UMASK)
_MODE = 0o666 & ~_UMASK  # of every file; what libraries make in a temporary place may be for its owner alone
_PARTIAL = re.compile(r"\.(?P<name>.*)\.(?P<host>[^.]*)-(?P<process>\d+)-[0-9a-f]{16}\.partial")


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A free path in the folder of ``path`` at which the block makes a file or folder, which then becomes ``path``.

    If the block fails, nothing remains and ``path`` is unchanged; what a killed process left of it is removed. If
    another process has made the same folder first, its folder is kept: cached content is the same whoever made it.
    UserError: the parent folder cannot be made. OSError, e.g. for a full disk, names the file.
    """
    start = f".{path.name[:40]}."
    partial = path.with_name(f"{start}{_host()}-{os.getpid()}-{secrets.token_hex(8)}.partial")
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError) as problem:
            raise UserError(f"{path.parent}: cannot be created ({problem.strerror}); give another folder") from problem
        for other in path.parent.glob(f"{escape(start)}*.partial"):
            if _is_left(other):
                _remove(other)
        yield partial
        _flush(partial)
        if partial.is_file():
            with suppress(OSError):  # not every file system has modes
                partial.chmod(_MODE)
        try:
            os.replace(partial, path)
        except OSError:
            if not (partial.is_dir() and path.is_dir()):
                raise
        _flush_names(path.parent)
    except OSError as problem:
        if problem.errno is not None and problem.filename in (None, str(partial)):
            raise OSError(problem.errno, problem.strerror, str(path)) from problem
        raise
    finally:
        _remove(partial)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write ``content`` to ``path``."""
    with appearing(path) as partial:
        partial.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, in UTF-8."""
    write_bytes(path, text.encode())


def write_lines(path: Path, lines: list[str]) -> None:
    """One line each; a line break inside a line becomes a space."""
    write_text(path, "".join(line.replace("\r", " ").replace("\n", " ") + "\n" for line in lines))


def flush(path: Path) -> None:
    """Make sure that what was written to the file ``path`` is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clean(folder: Path) -> None:
    """Remove from ``folder``, and the folders in it, what killed writers left behind."""
    for inside, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            if _is_left(Path(inside, name)):
                _remove(Path(inside, name))
        folders[:] = [name for name in folders if not name.startswith(".")]


def _is_left(path: Path) -> bool:
    """Whether ``path`` is what `appearing` writes to, and nobody does so any more, as far as can be known."""
    partial = _PARTIAL.fullmatch(path.name)
    if partial is None:
        return False
    host, process = partial["host"], int(partial["process"])
    try:
        touched = path.stat().st_mtime
    except FileNotFoundError:
        return False
    if host != _host():
        return time.time() - touched > DAY
    if process == os.getpid():  # in a container a process may have the number of an earlier one
        return touched < _BEGAN
    return not is_alive(process)


def is_alive(process: int) -> bool:
    """Whether a process with this number runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _host() -> str:
    return socket.gethostname().partition(".")[0][:40]


def _flush(path: Path) -> None:
    if not path.is_dir():
        flush(path)
        return
    for inside, _, files in os.walk(path):
        for name in files:
            flush(Path(inside, name))
        _flush_names(Path(inside))


def _flush_names(folder: Path) -> None:
    with suppress(OSError):  # not every system and file system can
        flush(folder)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def is_writable(folder: Path) -> bool:
    """Whether files can be made in ``folder``, which need not exist yet."""
    there = next(path for path in (folder, *folder.parents) if os.path.exists(path))  # Path's own may raise an error
    return there.is_dir() and os.access(there, os.W_OK)


KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
KINDS |= {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def remove_if_empty(folder: Path) -> None:
    """Remove ``folder``, and then the one that it is in, each only if it is empty and not the current one."""
    for path in (folder, folder.parent):
        if not Path.cwd().is_relative_to(path):
            with suppress(OSError):
                path.rmdir()


def path_of(name: str, path: Any) -> Path:
    """The value of the argument ``name`` as a path. UserError: no path."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise UserError(f"{name}={path!r:.60}: give a path")
    return Path(path)


def check_regular(path: Path) -> None:
    """UserError if ``path`` exists and is no file: reading a pipe could wait forever."""
    try:
        mode = path.stat().st_mode
    except OSError:  # missing: whoever needs it says so
        return
    if not stat.S_ISREG(mode):
        raise UserError(f"{path} is {KINDS.get(stat.S_IFMT(mode), 'no file')}, where a file should be")


@contextmanager
def reading(path: Path, mend: str = "restore the run's own file") -> Iterator[None]:
    """UserError instead of a parser's error if the content of ``path`` is not what the block expects."""
    check_regular(path)
    try:
        yield
    except UserError:
        raise
    except OSError as problem:
        raise UserError(f"{path}: cannot be read ({problem.strerror or problem}); {mend}") from problem
    except Exception as problem:  # damaged bytes lead to errors of any kind
        what = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise UserError(f"{path}: damaged, or not the file that a run has there ({what:.160}); {mend}") from problem
