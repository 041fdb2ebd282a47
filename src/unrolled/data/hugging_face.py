"""Data sets that the package ``datasets`` reads: from the Hugging Face Hub by name, or from a local folder or file."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from numbers import Number
from pathlib import Path
from typing import Any

from unrolled.data import table_columns as columns
from unrolled.data.corpus import SPLITS, Files
from unrolled.data.kept import keep, name_in_cache
from unrolled.data.table_columns import Columns, checked_separator
from unrolled.errors import UserError, nearest, shown


class HuggingFace:
    """A data set with columns of text, numbers or lists of them; a.b is the part b of the column a.

    name: as `datasets.load_dataset` takes it, or a folder that `save_to_disk` wrote. config and revision: of the data
    set. train, val, test: the names of its splits, such as train[:90%]. columns: as in `TSV`, by name.
    feature_separator: between features; a list has them one by one.
    """

    def __init__(
        self,
        *,
        name: str,
        config: str | None,
        revision: str | None,
        train: str,
        val: str,
        test: str,
        columns: Any,
        feature_separator: str = ";",
    ) -> None:
        self._name, self._config, self._revision = name, config, revision
        self._splits = dict(zip(SPLITS, (train, val, test), strict=True))
        for option, given in {"name": name, **self._splits}.items():
            if not isinstance(given, str) or not given:
                raise UserError(f"data.{option}={shown(given)}: give a name")
        self._columns = Columns.of(columns)
        for column in self._columns.all:
            if isinstance(column, int):
                raise UserError(f"data.columns: {column}: the columns of this data set have names; use those")
        self._separator = checked_separator(feature_separator)
        self.feature_separator = self._separator if self._columns.features else None
        """What separates features in the source, None where there are none."""

    def files(self, cache: Path) -> dict[str, Files]:
        """The columns as text files, in ``cache``. UserError: no such data set or column."""
        return {split: self._written(split, cache) for split in SPLITS}

    def _written(self, split: str, cache: Path) -> Files:
        rows = self._load(split).with_format(None)  # another format, kept with the data, makes arrays of lists
        parts = (rows._fingerprint, self._columns, self._separator, columns.VERSION)
        folder = cache / "hf" / name_in_cache(*parts)
        keep(folder, lambda partial: columns.write(partial, self._columns, self._rows(rows)))
        return columns.files_of(folder)

    def _load(self, split: str) -> Any:
        """The split as `datasets.Dataset`."""
        try:
            import datasets
        except ImportError as problem:
            raise UserError('data=hf needs a package that is not installed: pip install "unrolled[hf]"') from problem
        datasets.disable_progress_bars()
        wanted = self._splits[split]
        try:
            if (Path(self._name) / "dataset_dict.json").is_file():
                saved = datasets.load_from_disk(self._name)
                if wanted not in saved:
                    raise UserError(f"data.{split}={wanted}: {self._name} has no such split{nearest(wanted, [*saved])}")
                return saved[wanted]
            return datasets.load_dataset(self._name, self._config, revision=self._revision, split=wanted)
        except (OSError, ValueError) as problem:  # no such data set, split or file; no network
            what = " ".join(str(problem).split())
            raise UserError(f"data.name={self._name}, data.{split}={wanted}: {what:.300}") from problem

    def _rows(self, rows: Any) -> Iterator[list[str]]:
        features = len(self._columns.features)
        texts = self._columns.all[: len(self._columns.all) - features]
        for row in rows:
            cells = [_cell(row, str(column), self._name, " ") for column in texts]
            yield cells + [_cell(row, str(column), self._name, self._separator) for column in self._columns.features]


def _cell(row: Mapping[str, Any], column: str, name: str, between: str) -> str:
    """A cell as text on one line; a list is joined, without its elements that are None."""
    value: Any = row
    for key in [column] if column in row else column.split("."):
        if not isinstance(value, Mapping) or key not in value:
            known = list(value) if isinstance(value, Mapping) else list(row)
            raise UserError(f"data.columns: {name} has no column {column}{nearest(key, known)}")
        value = value[key]
    if isinstance(value, Mapping):
        raise UserError(f"data.columns: {column} has parts: give one, such as {column}.{next(iter(value), 'en')}")
    listed = value if isinstance(value, list) else [value]
    return _on_one_line(between.join(_text(one, column, name) for one in listed if one is not None))


def _text(value: Any, column: str, name: str) -> str:
    if not isinstance(value, str | Number | date | time):
        kind = type(value).__name__
        raise UserError(
            f"data.columns: {column} of {name} holds {kind}: choose a column of text, numbers or lists of them"
        )
    return str(value)


def _on_one_line(text: str) -> str:
    """``text`` with a space for each line end and tab, but for those at its ends; other white space stays."""
    return re.sub(r"\r\n|[\t\r\n]", " ", text.strip("\t\r\n"))
