"""Lines of text files, checked: plain or gzipped UTF-8, one sentence a line.

Only a line feed ends a line. U+0085, U+2028, vertical tab and form feed are characters within a line, so that line i of
one file still matches line i of another.
"""

import gzip
import hashlib
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from unrolled.errors import UserError, counted

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
"""How every gzip file begins; in UTF-8 no text does."""


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of a binary stream as text, without line end (LF or CR LF) and without a BOM on the first line.

    ``name`` is the stream's name in messages. UserError with file and line: invalid UTF-8, a NUL byte, gzip.
    """
    for number, raw in enumerate(stream, start=1):
        raw = raw.removesuffix(b"\n").removesuffix(b"\r")
        if number == 1:
            raw = raw.removeprefix(BOM)
            if raw.startswith(GZIP):
                raise UserError(f"{name}: this is compressed by gzip; uncompress it (zcat)")
        if b"\0" in raw:
            raise UserError(f"{name}:{number}: there is a NUL byte; this is not a text file, or it is damaged")
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as problem:
            byte = raw[problem.start]
            raise UserError(f"{name}:{number}: byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8") from problem


def checked_file(path: str | Path) -> Path:
    """``path``, checked to be a file. UserError: what it is instead."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file; check the path") from None
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        raise UserError(f"{path}: cannot be read ({getattr(problem, 'strerror', problem)}); check the path") from None
    if stat.S_ISDIR(mode):
        raise UserError(f"{path}: this is a folder; name a file")
    if not stat.S_ISREG(mode):
        kind = "a named pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
        raise UserError(f"{path}: this is {kind}, which can be read only once; name a file")
    return path


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a file (gzipped if its name ends in .gz). UserError: a missing, empty or damaged file."""
    path = checked_file(path)
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(decode_lines(stream, str(path)), start=1):  # noqa: B007
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        if number == 0 and _is_plain(path):
            raise UserError(f"{path}: its name ends in .gz, but it is not compressed; rename it") from problem
        raise UserError(f"{path}:{number + 1}: the gzip file is incomplete; compress it again") from problem
    except OSError as problem:
        raise UserError(f"{path}: cannot be read ({problem.strerror})") from problem
    if number == 0:
        raise UserError(f"{path}: the file is empty; give a file with one sentence per line")


def _is_plain(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(GZIP)) != GZIP


def count_lines(path: str | Path) -> int:
    """The number of lines of a file, each checked as by `read_lines`."""
    return sum(1 for _ in read_lines(path))


def count_line_feeds(path: str | Path) -> int:
    """Roughly the number of lines of a file, unchecked and fast; of a damaged one, those before the damage."""
    number = 0
    with (
        suppress(OSError, EOFError, zlib.error),
        gzip.open(path) if Path(path).suffix == ".gz" else Path(path).open("rb") as stream,
    ):
        for block in iter(partial(stream.read, 2**20), b""):
            number += block.count(b"\n")
    return number


def check_same_length(source: str | Path, target: str | Path) -> int:
    """The number of lines of both files. UserError with both counts if they differ."""
    lines, target_lines = count_lines(source), count_lines(target)
    if lines != target_lines:
        raise unequal(source, lines, target, target_lines)
    return lines


def unequal(source: str | Path, source_lines: int, target: str | Path, target_lines: int) -> UserError:
    """The error for two files that should match line by line, and do not."""
    return UserError(
        f"{source} has {counted(source_lines, 'line')} and {target} has {target_lines:,}:"
        " line i of one belongs to line i of the other; give files of equal length"
    )


def check_unchanged(path: str | Path, digest: str) -> None:
    """UserError: the SHA-256 of a file is no longer ``digest``: it was changed while it was read."""
    if sha256(path) != digest:
        raise UserError(f"{path}: this file was changed while it was read; start again when it is complete")


def sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal. UserError: a missing file, or one that cannot be read."""
    try:
        with checked_file(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise UserError(f"{path}: cannot be read ({problem.strerror})") from problem
