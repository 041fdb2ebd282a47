"""Tables whose columns a tab separates, one example a line: words and their sounds, lemmas and their forms."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from unrolled.data import table_columns as columns
from unrolled.data.corpus import SPLITS, Files
from unrolled.data.kept import keep, name_in_cache
from unrolled.data.table_columns import Columns, checked_separator
from unrolled.errors import UserError, nearest
from unrolled.text.lines import read_lines, sha256


class TSV:
    """A table for each split, plain or gzipped. If columns are given by name, the first line has the names of all.

    train, val, test: files, or patterns such as DIR/**/ady_train.tsv that match one file. columns: ``source``,
    ``target`` and ``features``, each a number from 1, a name, or several. feature_separator: between the features of a
    cell. Nothing is quoted: a quotation mark is a letter.
    """

    def __init__(self, *, train: str, val: str, test: str, columns: Any, feature_separator: str = ";") -> None:
        self._paths = dict(zip(SPLITS, (train, val, test), strict=True))
        self._columns = Columns.of(columns)
        separator = checked_separator(feature_separator)
        self.feature_separator = separator if self._columns.features else None
        """What separates features in the source, None where there are none."""

    def files(self, cache: Path) -> dict[str, Files]:
        """The columns as text files, in ``cache``. UserError: a table with other columns."""
        return {split: self._written(split, cache) for split in SPLITS}

    def _written(self, split: str, cache: Path) -> Files:
        path = fitting_file(self._paths[split], f"data.{split}")
        folder = cache / "tsv" / name_in_cache(sha256(path), self._columns, columns.VERSION)
        keep(folder, lambda partial: columns.write(partial, self._columns, self._rows(path)))
        return columns.files_of(folder)

    def _rows(self, path: Path) -> Iterator[list[str]]:
        """The cells of the chosen columns, line by line."""
        lines = read_lines(path)
        first, names = 1, list[str]()
        if self._columns.named:
            first, names = 2, next(lines).split("\t")
        places = [_place(column, names, path) for column in self._columns.all]
        line = None
        for number, line in enumerate(lines, start=first):
            cells = line.split("\t")
            if len(cells) <= max(places) or (names and len(cells) != len(names)):
                wanted = f"the first line names {len(names)}" if names else f"data.columns needs {max(places) + 1}"
                has = f"{len(cells)} column{'s' * (len(cells) != 1)}"
                raise UserError(f"{path}:{number}: {has if line else 'a blank line'}, and {wanted}; correct the line")
            yield [cells[place] for place in places]
        if line is None:
            raise UserError(f"{path}: there is no line after the names of the columns")


def _place(column: int | str, names: Sequence[str], path: Path) -> int:
    """Where a column is, from 0."""
    if isinstance(column, int):
        return column - 1
    if names.count(column) > 1:
        raise UserError(f"{path}:1: {names.count(column)} columns have the name {column}; give the column's number")
    if column not in names:
        raise UserError(f"{path}:1: no column has the name {column}{nearest(column, names)}")
    return names.index(column)


def fitting_file(path: str, option: str) -> Path:
    """The one file that matches a path with * in it; any other path as it is. UserError: no match, or several."""
    if not isinstance(path, str | Path):
        raise UserError(f"{option}={path}: give one file")
    if "*" not in str(path) or Path(path).exists():
        return Path(path)
    whole = Path(path).absolute()
    fitting = sorted(islice(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))), 3))
    if len(fitting) != 1:
        several = " and ".join(map(str, fitting[:2]))
        raise UserError(f"{option}={path}: " + (f"several files fit, such as {several}" if fitting else "no file fits"))
    return fitting[0]
