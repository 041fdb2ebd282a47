"""Word alignments as text: Pharaoh files.

A link is (i, j): source word i belongs to target word j, both from 0. Words are what white space separates.
"""

from collections.abc import Iterator
from pathlib import Path

from unrolled.errors import UserError, counted
from unrolled.text.lines import check_same_length, count_lines, read_lines, unequal
from unrolled.text.tokens import split_words

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


def read_alignments(path: str | Path, *, base: int = 0) -> Iterator[tuple[Links, Links]]:
    """(sure, possible) links of every line of a Pharaoh file. UserError with file, line and the text at fault."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield parse_pharaoh(line, base=base)
        except ValueError as problem:
            raise UserError(
                f"{path}:{number}: {problem}; write i-j pairs counted from {base}, separated by spaces"
            ) from None


def training_links(sure: Links, possible: Links) -> Links:
    """The links for training: the sure links of each target word, or its possible ones if it has no sure links."""
    certain = {j for _, j in sure}
    return sure | {(i, j) for i, j in possible if j not in certain}


def known_alignments(
    path: str | Path, source: str | Path, target: str | Path, *, base: int = 0
) -> Iterator[tuple[str, str, Links, Links]]:
    """Source line, target line, sure and possible links of each pair of two text files and their Pharaoh file.

    UserError with file, line and the text at fault: what `read_alignments` refuses, a link beyond the words of its
    sentence, files of unequal length.
    """
    sources, targets = read_lines(source), read_lines(target)
    number = 0
    for number, (sure, possible) in enumerate(read_alignments(path, base=base), start=1):
        one, other = next(sources, None), next(targets, None)
        if one is None or other is None:
            break
        counts = len(split_words(one)), len(split_words(other))
        for link in sorted(possible):
            for position, count, side in zip(link, counts, ("source", "target"), strict=True):
                if position >= count:
                    words = f"{counted(count, 'word')} ({_numbers(count, base)})"
                    raise UserError(
                        f"{path}:{number}: {link[0] + base}-{link[1] + base}: the {side} sentence has {words}; does the"
                        f" file count words from {base}, and belong to this text?"
                    )
        yield one, other, sure, possible
    else:
        if next(sources, None) is None:
            return
    raise unequal(source, check_same_length(source, target), path, count_lines(path))


def _numbers(count: int, base: int) -> str:
    return (f"{base} to {base + count - 1}" if count > 1 else f"{base}") if count else "none"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
