"""Word alignments as text: Pharaoh files.

A link is (i, j): source word i goes with target word j, both from 0, words being what white space separates.
"""

from pathlib import Path

from unrolled.data.text import read_lines
from unrolled.errors import UserError

Links = set[tuple[int, int]]


def parse_pharaoh(line: str, *, base: int = 0) -> tuple[Links, Links]:
    """(sure, possible) links of one line in Pharaoh format: ``i-j`` a sure link, ``ipj`` one that is only possible.

    ``base`` is the number of the first word in the file. Sure links are possible too (Och & Ney 2003: S ⊆ P).
    ValueError for anything else.
    """
    sure, possible = set(), set()
    for item in line.split():
        source, mark, target = item.partition("-" if "-" in item else "p")
        if not (mark and _is_number(source) and _is_number(target)):
            raise ValueError(f"{item!r} is no link like 0-0")
        link = (int(source) - base, int(target) - base)
        if min(link) < 0:
            raise ValueError(f"{item!r} is below {base}-{base}, the first words' numbers")
        possible.add(link)
        if mark == "-":
            sure.add(link)
    return sure, possible


def pharaoh(links: Links) -> str:
    """Sure links as a line of a Pharaoh file, from 0, without line end."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_alignments(path: str | Path, *, base: int = 0) -> list[tuple[Links, Links]]:
    """(sure, possible) links of every line of a Pharaoh file. UserError with file, line and what stands there."""
    alignments = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            alignments.append(parse_pharaoh(line, base=base))
        except ValueError as problem:
            raise UserError(f"{path}:{number}: {problem}; a line is i-j pairs from {base}, one space between") from None
    return alignments


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
