"""Token ids on disk, memory-mapped: a corpus takes no memory until its sentences are read.

A file holds the ids of all sentences (uint16 or int32), zeros up to a multiple of 8, the N + 1 int64 offsets at which
sentences begin and end, and the footer, with a CRC-32 of all before it.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.errors import UserError
from unrolled.files import appearing, check_regular

FOOTER = struct.Struct("=16sqqqq")  # mark, bytes of an id, sentences, ids, CRC-32
MARK = b"unrolled ids v2\n"
BLOCK = 1000  # sentences written at a time
COUNTED = 2**20  # ids looked at together


def write(path: Path, sentences: Iterable[Sequence[int]], *, vocabulary_size: int) -> None:
    """Write sentences as they come; the file appears when it is complete. OverflowError: an id that does not fit."""
    typecode = "H" if vocabulary_size <= 2**16 else "i"
    size = array(typecode).itemsize
    offsets = array("q", [0])
    checksum = 0
    with appearing(path) as partial, partial.open("wb") as file:
        remaining = iter(sentences)
        while block := list(islice(remaining, BLOCK)):
            ids = array(typecode, chain.from_iterable(block))
            ids.tofile(file)
            checksum = zlib.crc32(ids, checksum)
            ends = accumulate(map(len, block), initial=offsets[-1])
            offsets.extend(islice(ends, 1, None))
        padding = bytes(-file.tell() % offsets.itemsize)
        file.write(padding)
        offsets.tofile(file)
        checksum = zlib.crc32(offsets, zlib.crc32(padding, checksum))
        file.write(FOOTER.pack(MARK, size, len(offsets) - 1, offsets[-1], checksum))


def is_whole(path: Path) -> bool:
    """Whether the file is what `write` wrote, byte by byte. It is read once, at 1 to 3 GB/s."""
    try:
        check_regular(path)
        TokenStore.open(path)
        raw: NDArray[np.uint8] = np.memmap(path, np.uint8, "r").view(np.ndarray)
    except (OSError, ValueError, UserError):
        return False
    return bool(zlib.crc32(raw[: -FOOTER.size].data) == FOOTER.unpack(raw[-FOOTER.size :].tobytes())[-1])


class TokenStore:
    """Sentences of token ids, read on demand."""

    def __init__(self, ids: NDArray[Any], offsets: NDArray[np.int64]) -> None:
        self._ids = ids
        self._offsets = offsets

    @classmethod
    def open(cls, path: Path) -> "TokenStore":
        """Map what `write` wrote. UserError if it is something else."""
        raw: NDArray[np.uint8] = np.memmap(path, np.uint8, "r").view(np.ndarray)
        footer = raw[-FOOTER.size :].tobytes()
        damaged = UserError(f"{path}: this file of token ids is incomplete; delete it and start again")
        if len(footer) != FOOTER.size or not footer.startswith(MARK):
            raise damaged
        _, size, sentences, tokens, _ = FOOTER.unpack(footer)
        start = -(-tokens * size // 8) * 8
        if size not in (2, 4) or min(sentences, tokens) < 0 or len(raw) != start + 8 * (sentences + 1) + len(footer):
            raise damaged
        ids = raw[: tokens * size].view(np.uint16 if size == 2 else np.int32)
        return cls(ids, raw[start : start + 8 * (sentences + 1)].view(np.int64))

    def __len__(self) -> int:
        """Number of sentences."""
        return len(self._offsets) - 1

    def __getitem__(self, number: int) -> NDArray[Any]:
        """The ids of a sentence, without special tokens."""
        return self._ids[self._offsets[number] : self._offsets[number + 1]]

    def flat(self, start: int, stop: int) -> NDArray[Any]:
        """The ids from number ``start`` to before ``stop``, those of all sentences one after the other."""
        return self._ids[start:stop]

    def counts(self, vocabulary_size: int) -> NDArray[np.int64]:
        """(vocabulary_size,): how often each id occurs."""
        parts = (self._ids[start : start + COUNTED] for start in range(0, len(self._ids), COUNTED))
        return sum((np.bincount(ids, minlength=vocabulary_size) for ids in parts), np.zeros(vocabulary_size, np.int64))

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(N,): the number of ids of every sentence."""
        return np.diff(self._offsets).astype(np.int32)
