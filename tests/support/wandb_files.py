"""An offline Weights & Biases run is read back: what `wandb sync` would send.

wandb 0.31 reads its files in its own Go program only. Its records are read here with its own classes; they lie in
the frames of a LevelDB log: blocks of 32 KiB, each piece with 7 bytes of checksum, length and kind.
"""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unrolled.training.loggers.lean_wandb import import_wandb

import_wandb()  # as trainings do: one that finds it imported otherwise takes two seconds longer
from wandb.proto import wandb_internal_pb2 as proto  # noqa: E402

BLOCK, HEADER, FULL, LAST = 32768, struct.Struct("<IHB"), 1, 4


def records(folder: Path) -> Iterator[proto.Record]:
    """All records of the only W&B run of a run folder."""
    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    yield from records_of(path)


def records_of(path: Path, *, broken_off: bool = False) -> Iterator[proto.Record]:
    """All records of a W&B file, which may be ``broken_off``."""
    data = path.read_bytes()
    assert data[:4] == b":W&B"
    position, pieces = 7, b""
    while position + HEADER.size <= len(data):
        left = BLOCK - position % BLOCK
        if left < HEADER.size:
            position += left
            continue
        _, length, kind = HEADER.unpack_from(data, position)
        position += HEADER.size
        if broken_off and position + length > len(data):
            return
        pieces += data[position : position + length]
        position += length
        if kind in (FULL, LAST):
            record = proto.Record()
            record.ParseFromString(pieces)
            pieces = b""
            yield record
    assert broken_off or not pieces


def history(path: Path) -> list[dict[str, Any]]:
    """The rows of a W&B file, which may be broken off."""
    return [row(record) for record in records_of(path, broken_off=True) if record.HasField("history")]


def row(record: proto.Record) -> dict[str, Any]:
    """The values of a row of the history by name."""
    found: dict[str, Any] = {}
    for item in record.history.item:
        *outer, last = item.nested_key or [item.key]
        inner = found
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = json.loads(item.value_json)
    return found


def read(folder: Path) -> dict[str, Any]:
    """The run as Weights & Biases shows it: name, group, configuration, rows of the history, exit code."""
    found: dict[str, Any] = {"history": [], "config": {}}
    for record in records(folder):
        if record.HasField("run"):
            run = record.run
            found |= {"name": run.display_name, "group": run.run_group, "project": run.project, "id": run.run_id}
            found |= {"tags": list(run.tags), "job_type": run.job_type}
            found["config"] |= {item.key: json.loads(item.value_json) for item in run.config.update}
        elif record.HasField("config"):
            found["config"] |= {item.key: json.loads(item.value_json) for item in record.config.update}
        elif record.HasField("history"):
            found["history"].append(row(record))
        elif record.HasField("exit"):
            found["exit"] = record.exit.exit_code
    return found
