"""GIZA++'s own files, A3.final, with three lines for each sentence pair,

    # Sentence pair (1) source length 3 target length 2 alignment score : 0.01
    ein Haus
    NULL ({ }) a ({ 1 }) small ({ }) house ({ 2 })

where each word of the third line is followed by the numbers, from 1, of the words of the second line that it generates
(Och & Ney 2003).
"""

import re
from pathlib import Path

from unrolled.alignment.links import Links, read_alignments
from unrolled.errors import UserError
from unrolled.text.lines import read_lines
from unrolled.text.tokens import split_words

HEAD = re.compile(r"# Sentence pair \((\d{1,18})\) ")
WORD = re.compile(r"([^ \t\r\f\v]+) \(\{ ((?:\d+ )*)\}\)(?: |$)")


def read_direction(path: str | Path, *, backward: bool = False) -> list[Links]:
    """The (source, target) links of every line of a Pharaoh file, or of every pair of an A3 file.

    backward: in the A3 file the target generated the source, so the source is the second line. Pairs may come in any
    order. UserError with file and line: another format, a missing pair.
    """
    first = next(read_lines(path), "")
    if not HEAD.match(first):
        return [sure for sure, _ in read_alignments(path)]
    pairs: dict[int, Links] = {}
    lines = list(read_lines(path))
    for start in range(0, len(lines), 3):
        head, generated, generating = (*lines[start : start + 3], "", "")[:3]
        header = HEAD.match(head)
        if header is None:
            raise UserError(f"{path}:{start + 1}: {head!r} is not how GIZA++ begins a sentence pair")
        try:
            links = parse_a3(generated, generating)
        except ValueError as problem:
            raise UserError(f"{path}:{start + 3}: {problem}") from None
        pairs[int(header[1])] = {(target, source) for source, target in links} if backward else links
    missing = next((number for number in range(1, len(lines) // 3 + 1) if number not in pairs), None)
    if missing is not None:
        raise UserError(f"{path}: sentence pair ({missing}) is missing, or another occurs twice")
    return [pairs[number] for number in sorted(pairs)]


def parse_a3(generated: str, generating: str) -> Links:
    """(i, j), from 0: word i of ``generating`` without NULL, and word j of ``generated``. ValueError: no such lines."""
    words = WORD.findall(generating)
    if not words or words[0][0] != "NULL" or WORD.sub("", generating):
        raise ValueError(f"{generating!r} is not like NULL ({{ }}) word ({{ 1 2 }})")
    count = len(split_words(generated))
    links = {(i, int(number) - 1) for i, (_, numbers) in enumerate(words[1:]) for number in numbers.split()}
    beyond = [j + 1 for _, j in links if not 0 <= j < count]
    if beyond:
        raise ValueError(f"({{ {beyond[0]} }}) is beyond the {count} words of the line before")
    return links
