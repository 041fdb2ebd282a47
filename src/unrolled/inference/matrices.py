"""Matrices written to an .npz file one by one: none stays in memory, and an error leaves a readable file."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray


class MatrixFile:
    """Arrays "0", "1", ... of an .npz file, in the order in which they are added; a context manager."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED)
        self._count = 0

    def add(self, matrices: Iterable[NDArray[np.float32]]) -> None:
        """Append them."""
        for matrix in matrices:
            with self._archive.open(f"{self._count}.npy", "w") as file:
                np.lib.format.write_array(file, matrix)
            self._count += 1

    def __enter__(self) -> "MatrixFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()
