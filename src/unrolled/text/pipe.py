"""Lines of a pipe as they arrive, in chunks of all that are there, so that none waits for lines yet to come."""

import io
import os
import select
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO

from unrolled.text.lines import decode_lines

PAUSE = 0.05
"""Seconds without a further line after which the lines that are there form a chunk."""
HEARD = 1.0
"""Ctrl-C is noticed within this many seconds."""
BLOCK = 2**16


class Pipe:
    """The lines of a binary stream, including line feeds, and whether another line is ready."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        try:
            self._descriptor: int | None = stream.fileno()
        except io.UnsupportedOperation:
            self._descriptor = None  # nothing to wait for: all of it is in memory
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # the beginning of a line that has not ended yet
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        """The lines."""
        return self

    def __next__(self) -> bytes:
        """The next line, as soon as it is there."""
        while not self._lines:
            if self._ended:
                raise StopIteration
            self._read()
        return self._lines.popleft()

    def ready(self) -> bool:
        """Whether a line, or the end of the stream, arrives within ``PAUSE``."""
        if self._lines or self._ended or self._descriptor is None:
            return True
        readable, _, _ = select.select([self._descriptor], [], [], PAUSE)
        return bool(readable)

    def _read(self) -> None:
        # a signal that comes just before a call that waits, or to another thread, would be noticed after the next line
        while self._descriptor is not None and not select.select([self._descriptor], [], [], HEARD)[0]:
            pass
        block = self._stream.read(BLOCK) if self._descriptor is None else os.read(self._descriptor, BLOCK)
        *ended, rest = block.split(b"\n")
        if ended:
            self._lines.append(b"".join([*self._begun, ended[0], b"\n"]))
            self._lines.extend(line + b"\n" for line in ended[1:])
            self._begun = []
        self._begun.append(rest)
        if not block:
            self._ended = True
            if last := b"".join(self._begun):
                self._lines.append(last)


def arriving(stream: BinaryIO, name: str, count: int) -> Iterator[list[str]]:
    """Chunks of 1 to ``count`` lines of UTF-8, in order; the lines before an invalid one come before its UserError.

    ``name`` is the stream's name in messages; see ``decode_lines``.
    """
    pipe = Pipe(stream)
    lines, chunk = decode_lines(pipe, name), list[str]()
    while True:
        try:
            chunk.append(next(lines))
        except StopIteration:
            break
        except BaseException:
            if chunk:
                yield chunk
            raise
        if len(chunk) == count or not pipe.ready():
            yield chunk
            chunk = []
    if chunk:
        yield chunk
