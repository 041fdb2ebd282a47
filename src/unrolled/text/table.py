"""Text in columns, for a terminal."""

from collections.abc import Collection, Sequence

from unrolled.errors import printable

BOLD = "\x1b[1m{}\x1b[0m"


def table(rows: Sequence[Sequence[str]], *, left: int = 1, bold: Collection[tuple[int, int]] = ()) -> str:
    """``rows`` as lines: the first ``left`` columns flush left, all others flush right, two spaces between.

    Cells at (row, column) in ``bold`` get the terminal's codes for bold type. Control characters are written out.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [f"{cell:{'<' if place < left else '>'}{widths[place]}}" for place, cell in enumerate(row)]
        cells[-1] = cells[-1].rstrip()
        cells = [BOLD.format(cell) if (number, place) in bold else cell for place, cell in enumerate(cells)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)
