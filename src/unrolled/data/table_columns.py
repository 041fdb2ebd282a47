"""Which columns of a table are source, target and features, and the text files that are made of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unrolled.data.corpus import Files
from unrolled.errors import POSITIVE_WHOLE, UserError, shown
from unrolled.text.features import TAB

Column = int | str
"""A number from 1, or a name."""
VERSION = 1
"""The version of the files that `write` makes: part of the cache's key."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of each side, one or several; those of a side are joined by a space, and features follow after a tab.

    UserError: a column that is neither a number from 1 nor a name, a side without one.
    """

    source: tuple[Column, ...]
    target: tuple[Column, ...]
    features: tuple[Column, ...] = ()

    @classmethod
    def of(cls, columns: Any) -> "Columns":
        """From the options ``data.columns``."""
        if not isinstance(columns, Mapping):
            raise UserError(f"data.columns={shown(columns)}: give data.columns.source=... and data.columns.target=...")
        sides = {side: _listed(side, columns.get(side)) for side in ("source", "target", "features")}
        for side in ("source", "target"):
            if not sides[side]:
                raise UserError(f"data.columns.{side}=null: give the number or the name of a column")
        return cls(**sides)

    @property
    def all(self) -> tuple[Column, ...]:
        """Those of all sides, in order."""
        return (*self.source, *self.target, *self.features)

    @property
    def named(self) -> bool:
        """Whether any is given by name."""
        return any(isinstance(column, str) for column in self.all)


def _listed(side: str, value: Any) -> tuple[Column, ...]:
    columns = () if value is None else (value,) if isinstance(value, int | str) else tuple(value)
    for column in columns:
        if not (column in POSITIVE_WHOLE or (isinstance(column, str) and column)):
            raise UserError(f"data.columns.{side}={column}: give a column's number, from 1, or its name")
    return columns


def checked_separator(given: Any) -> str:
    """The option ``data.feature_separator``. UserError: white space, which would be lost, or no text."""
    if not isinstance(given, str) or not given.strip():
        raise UserError(f"data.feature_separator={shown(given)}: give the characters that separate two features")
    return given


def write(folder: Path, columns: Columns, rows: Iterable[Sequence[str]]) -> None:
    """Write the files of `files_of`. rows: the cells of ``columns.all``, without line ends and tabs."""
    folder.mkdir(parents=True, exist_ok=True)
    sources, targets = len(columns.source), len(columns.source) + len(columns.target)
    with (
        (folder / "source").open("w", encoding="utf-8", newline="\n") as source,
        (folder / "target").open("w", encoding="utf-8", newline="\n") as target,
    ):
        for row in rows:
            source.write(TAB.join([" ".join(row[:sources]), *row[targets:]]) + "\n")
            target.write(" ".join(row[sources:targets]) + "\n")


def files_of(folder: Path) -> Files:
    """What `write` wrote."""
    return Files(folder / "source", folder / "target")
