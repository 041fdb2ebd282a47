"""Logs each row to Weights & Biases once, though a resumed training repeats what came after its last checkpoint.

W&B cannot forget a row, so none is logged twice: when a run is resumed, the rows in its files are skipped. Rows that a
kill took from W&B's memory, but not from metrics.csv, are logged again.

A W&B file (.wandb) is a LevelDB log of protocol buffers: blocks of 32 KiB, in which each part of a record has a header
of 7 bytes, checksum, length and kind. https://github.com/google/leveldb/blob/main/doc/log_format.md
"""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import WandbLogger

from unrolled.training.loggers.csv import Rows

STEP = "trainer/global_step"
BLOCK, START, HEADER, FULL, LAST = 32768, 7, struct.Struct("<IHB"), 1, 4

PIECES = "*run-*-*/run-{}.wandb"
"""The W&B files of a run by its id, in the folder ``wandb`` of a run folder."""
Row = tuple[int, frozenset[str]]
"""What identifies a row: the step, and the names of what was logged."""


class OnceLogger(WandbLogger):
    """Logs to ``run``, skipping the rows that its earlier pieces in ``folder`` already have.

    An offline run has a piece for each time that it was resumed; `wandb sync` puts them together.
    """

    def __init__(self, run: Any, folder: Path, *, resume: bool) -> None:
        super().__init__(experiment=run, save_dir=str(folder))
        self._told: set[Row] = set()
        self._next: int | None = None  # W&B's own count of rows, which an offline piece would begin at 0
        if resume:
            self._read(run, folder)
        self._log = run.log
        run.log = self._once

    def _read(self, run: Any, folder: Path) -> None:
        for piece in (folder / "wandb").glob(PIECES.format(run.id)):
            offline = piece.parent.name.startswith("offline-")
            for number, row in rows(piece):
                if offline or number < run.step:  # else the server does not have it
                    self._told.add(row)
                if offline:
                    self._next = max(self._next or 0, number + 1)

    def _once(self, logged: dict[str, Any]) -> None:
        if identity(logged) in self._told:
            return
        if self._next is None:
            self._log(logged)
        else:
            self._log(logged, step=self._next, commit=True)
            self._next = None

    def complete(self, curves: Rows) -> None:
        """Log the missing ones of ``curves``, the rows of metrics.csv up to the checkpoint."""
        for row in curves:
            logged: dict[str, Any] = {name: float(value) for name, value in row.items() if value != ""}
            logged[STEP] = int(logged.pop("step"))
            self._once(logged)


def identity(logged: Mapping[str, Any]) -> Row:
    """See `Row`."""
    return int(logged.get(STEP, -1)), frozenset(logged)


def rows(piece: Path) -> Iterator[tuple[int, Row]]:
    """W&B's number, and the identity, of every row in a W&B file, up to where it breaks off."""
    from google.protobuf.message import DecodeError
    from wandb.proto import wandb_internal_pb2 as proto

    for content in records(piece.read_bytes()):
        record = proto.Record()  # type: ignore[attr-defined]
        try:
            record.ParseFromString(content)
        except DecodeError:
            return
        if record.HasField("history"):
            items = {item.nested_key[0] if item.nested_key else item.key: item for item in record.history.item}
            step, number = (int(items[name].value_json) if name in items else -1 for name in (STEP, "_step"))
            yield number, (step, frozenset(name for name in items if not name.startswith("_")))


def records(data: bytes) -> Iterator[bytes]:
    """The records of a LevelDB log, up to where it breaks off."""
    position, parts = START, b""
    while position + HEADER.size <= len(data):
        left = BLOCK - position % BLOCK
        if left < HEADER.size:  # only padding fits there
            position += left
            continue
        _, length, kind = HEADER.unpack_from(data, position)
        position += HEADER.size
        if position + length > len(data):
            return
        parts += data[position : position + length]
        position += length
        if kind in (FULL, LAST):
            yield parts
            parts = b""
