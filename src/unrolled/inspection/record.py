"""attention.jsonl in a run folder: where a model looked at each validation, one snapshot per line.

Letters: T target pieces, S source pieces, including </s> at the end.

A snapshot is {run, split, step, epoch, metrics, sentences}, identified by split and step. A sentence is {line, text,
source, targets}: the number of its line from 1, the source as text and in pieces, and two targets, the `reference` and
the model's `translation`, both read by forced decoding. A target is {text, pieces, weights, memory, gates, links}: the
weights ``(T, S)`` as stored by `matrix`; the norms of the attention's memory, or null; by name, the mean of each of
its gates over the units; known links [source piece, target piece, 1 if sure or 0 if possible], or null. Records of
earlier versions have no gates.
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from unrolled.alignment.links import Links
from unrolled.alignment.pieces import Alignment
from unrolled.errors import UserError
from unrolled.files import reading, write_text

if TYPE_CHECKING:
    from unrolled.inference.attended_pairs import AttendedPair

FILE = "attention.jsonl"
LEVELS = 255


def matrix(values: npt.ArrayLike, largest: float) -> dict[str, Any]:
    """``values (T, S)`` from 0 to ``largest`` as {largest, bytes}: base64, a byte each, row by row, 255 for largest.

    NaN becomes 0. The error is at most ``largest`` / 510.
    """
    shares = np.nan_to_num(np.asarray(values, dtype=np.float64) / (largest or 1.0), nan=0.0, posinf=1.0)
    levels = np.rint(LEVELS * shares.clip(0, 1)).astype(np.uint8)
    return {"largest": largest, "bytes": base64.b64encode(levels.tobytes()).decode("ascii")}


def values(stored: dict[str, Any], shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """What `matrix` stored, ``(T, S)``."""
    levels = np.frombuffer(base64.b64decode(stored["bytes"]), dtype=np.uint8)
    return levels.reshape(shape) * (stored["largest"] / LEVELS)


def target(pair: "AttendedPair", text: str, alignment: Alignment | None) -> dict[str, Any]:
    """A target as in a snapshot. ``alignment``: known links between its pieces."""
    norms = None if pair.memory_norms is None else pair.memory_norms.numpy()
    largest = 0.0 if norms is None else round(float(norms[np.isfinite(norms)].max(initial=0.0)), 6)
    return {
        "text": text,
        "pieces": pair.target,
        "weights": matrix(pair.weights.numpy(), 1.0),
        "memory": None if norms is None else matrix(norms, largest),
        "gates": {name: matrix(gate.mean(dim=-1).numpy(), 1.0) for name, gate in (pair.gates or {}).items()},
        "links": None if alignment is None else _links(*alignment),
    }


def _links(sure: Links, possible: Links) -> list[list[int]]:
    return [[*link, int(link in sure)] for link in sorted(sure | possible)]


def read(folder: Path) -> list[dict[str, Any]]:
    """The snapshots in the run ``folder``, validation before test and by step; none if there is no record.

    A truncated last line, e.g. after a full disk, is ignored. UserError: a line that is no snapshot.
    """
    path = folder / FILE
    if not path.exists():
        return []
    with reading(path):
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line feed is incomplete
    snapshots = []
    for number, line in enumerate(lines, start=1):
        try:
            snapshot: dict[str, Any] = json.loads(line, parse_constant=lambda _: None)  # NaN, which no page reads
            _check(snapshot)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise UserError(f"{path}:{number}: this line is not a snapshot of attention; delete it") from None
        snapshots.append(snapshot)
    return sorted(snapshots, key=lambda snapshot: (snapshot["split"] != "val", snapshot["split"], snapshot["step"]))


def _check(snapshot: dict[str, Any]) -> None:
    """ValueError, TypeError, KeyError, AttributeError: no snapshot, see above. What is missing is not wrong."""
    _is(snapshot["split"], str), _is(snapshot["step"], int)
    _is(snapshot.get("run", ""), str), _is(snapshot.get("epoch"), int, NoneType)
    for figure in snapshot.get("metrics", {}).values():
        _is(figure, float, int, NoneType)
    for sentence in _is(snapshot["sentences"], list):
        _is(sentence["text"], str), _is(sentence.get("line", 1), int)
        source = _texts(sentence.get("source", []))
        for one in sentence.get("targets", {}).values():
            _is(one["text"], str)
            shape = len(_texts(one["pieces"])), len(source)
            gates = _is(one.get("gates", {}), dict)
            for stored in (one["weights"], one["memory"], *gates.values()):
                if stored is not None:
                    _is(stored["largest"], float, int)
                    values(stored, shape)
            for link in one["links"] or []:
                if [type(number) for number in link] != [int, int, int]:
                    raise ValueError(f"{link} is no link")


def _is(value: Any, *kinds: type) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{value!r} is no {kinds[0].__name__}")
    return value


def _texts(pieces: Any) -> list[str]:
    return [_is(piece, str) for piece in _is(pieces, list)]


def add(folder: Path, snapshot: dict[str, Any]) -> list[dict[str, Any]]:
    """Add ``snapshot`` to the record of ``folder``, replacing one of the same split and step; returns the record.

    A reader sees the old file or the new one, never half of it.
    """
    others = [other for other in read(folder) if name(other) != name(snapshot)]
    write(folder, [*others, snapshot])
    return read(folder)


def write(folder: Path, snapshots: Sequence[dict[str, Any]]) -> None:
    """Write the record of ``folder``."""
    text = "".join(json.dumps(snapshot, ensure_ascii=False, separators=(",", ":")) + "\n" for snapshot in snapshots)
    write_text(folder / FILE, text)


def name(snapshot: dict[str, Any]) -> tuple[str, int]:
    """What identifies a snapshot in a record: split and step."""
    return snapshot["split"], snapshot["step"]
