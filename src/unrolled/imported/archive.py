"""The arrays of an .npz archive, read as numbers and nothing else: a pickled object in it is never opened."""

import math
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from unrolled.errors import UserError
from unrolled.files import reading
from unrolled.text.lines import checked_file

Array = npt.NDArray[np.float64]
MEND = "give the .npz file that dl4mt or Nematus saved"
LARGE, RATIO = 2**26, 20
"""Arrays of more bytes than this must not be this many times as large as the file: weights hardly compress."""

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Archive:
    """The arrays in the file ``path``, whose names and shapes are known before one is read.

    UserError: no such file, no .npz archive, a damaged one, more bytes than the file can honestly hold.
    """

    def __init__(self, path: Path) -> None:
        self.path = checked_file(path)
        if path.suffix == ".pkl":
            raise UserError(f"{path}: this is a pickle, which can run any code, so it is never opened; {MEND}")
        with reading(path, MEND), zipfile.ZipFile(path) as file:
            sizes = {info.filename.removesuffix(".npy"): info.file_size for info in file.infolist()}
        self.names = list(sizes)
        if sum(sizes.values()) > max(LARGE, RATIO * path.stat().st_size):
            raise UserError(f"{path}: {sum(sizes.values()):,} bytes in a file of {path.stat().st_size:,}; {MEND}")

    def shapes(self, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The shapes of the arrays ``names``. UserError: pickled objects, or anything else that is no real number."""
        shapes: dict[str, tuple[int, ...]] = {}
        with reading(self.path, MEND), zipfile.ZipFile(self.path) as file:
            for name in names:
                with file.open(f"{name}.npy") as member:
                    shape, dtype = _header(member)
                    begin = member.tell()
                if dtype.hasobject:
                    raise UserError(
                        f"{self.path}: {name} holds pickled objects, which can run any code, so they are never "
                        f"opened; {MEND}"
                    )
                if dtype.kind != "f":
                    raise UserError(f"{self.path}: {name} holds {dtype}, where weights are floating-point; {MEND}")
                if begin + math.prod(shape) * dtype.itemsize > file.getinfo(f"{name}.npy").file_size:
                    raise ValueError(f"{name} is cut off")
                shapes[name] = shape
        return shapes

    def read(self, names: Iterable[str]) -> dict[str, Array]:
        """The arrays ``names``, which `shapes` has accepted, in float64. UserError: NaN or infinity."""
        arrays: dict[str, Array] = {}
        with reading(self.path, MEND), zipfile.ZipFile(self.path) as file:
            for name in names:
                with file.open(f"{name}.npy") as member:
                    arrays[name] = np.lib.format.read_array(member).astype(np.float64)
                if not np.isfinite(arrays[name]).all():
                    raise UserError(f"{self.path}: {name} holds NaN or infinity: this training diverged; {MEND}")
        return arrays


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    shape, _, dtype = HEADERS[np.lib.format.read_magic(member)](member)
    return shape, dtype


Shapes = Mapping[str, tuple[str, ...]]


def check_shapes(path: Path, shapes: Mapping[str, tuple[int, ...]], expected: Shapes) -> dict[str, int]:
    """The sizes that the letters of ``expected`` shapes mean ("2D": twice D). UserError: shapes that disagree.

    A letter alone has its size where it comes first.
    """
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    for name, shape in shapes.items():
        if len(shape) != len(expected[name]):
            raise UserError(f"{path}: {name} has the shape {shape}, not ({', '.join(expected[name])})")
        for letter, size in zip(expected[name], shape, strict=True):
            if letter not in sizes and letter.isalpha():
                sizes[letter], origin[letter] = size, name
    for name, shape in shapes.items():
        due = tuple(_size(letter, sizes) for letter in expected[name])
        if shape != due:
            from_others = {origin[one] for one in re.findall("[A-Z]", "".join(expected[name]))} - {name}
            by = f" as by {', '.join(sorted(from_others))}" if from_others else ""
            raise UserError(f"{path}: {name} has the shape {shape}, not {due}{by}; this is not such a model")
    return sizes


def _size(letter: str, sizes: Mapping[str, int]) -> int:
    factor, name = re.fullmatch(r"(\d*)([A-Z]?)", letter).groups()  # type: ignore[union-attr]
    return int(factor or 1) * (sizes[name] if name else 1)
