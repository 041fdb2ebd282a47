"""Lists of results that show themselves as a table in a notebook, and become a pandas frame."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, TypeVar

from unrolled.errors import UserError
from unrolled.text.table import table

T = TypeVar("T")
SHOWN = 60
"""The most rows of a table in a notebook."""
PLAIN = (str, int, float, bool)


class Records(list[T]):
    """A list of dictionaries or of our results, in the order of the input. Printed and in a notebook it is a table."""

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary for each item."""
        return [_row(item) for item in self]

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each item. UserError: pandas is not installed."""
        try:
            from pandas import DataFrame  # not among our dependencies
        except ImportError as problem:
            raise UserError(
                "to_frame() needs pandas: pip install pandas, or use rows(), which returns dictionaries"
            ) from problem
        return DataFrame(self.rows())

    def _cells(self, number: int) -> list[list[str]]:
        rows = self.rows()[:number]
        names = list(dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, PLAIN)))
        return [names, *([_cell(row.get(name)) for name in names] for row in rows)]

    def __str__(self) -> str:
        cells = self._cells(len(self)) if self else [[]]
        return table(cells) if cells[0] else _plainly(self) or "nothing"

    def _repr_html_(self) -> str:
        more = f"<p>and {len(self) - SHOWN:,} more</p>" if len(self) > SHOWN else ""
        cells = self._cells(SHOWN)
        return (html_table(cells) if cells[0] or not self else f"<pre>{escape(_plainly(self[:SHOWN]))}</pre>") + more


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """``rows`` as a table for a notebook, the first as its head; all text is taken literally."""
    kinds = ["th", *("td" for _ in rows[1:])]
    lines = ["".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in row) for kind, row in zip(kinds, rows, strict=True)]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _plainly(items: Sequence[Any]) -> str:
    """The repr of each item, one a line, for items that have no column."""
    return "\n".join(map(repr, items))


def _row(item: Any) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    if is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    return {"value": item}


def _cell(value: Any) -> str:
    if not isinstance(value, PLAIN):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
