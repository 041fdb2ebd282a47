"""Error rates of transduction: how many lines are wrong, and how many of their symbols.

The word error rate is the share of lines that differ from their reference, 1 - exact match: a line is one word. The
symbol error rate is the edit distance (Levenshtein 1966) over the length of the reference, in symbols: phones, which
white space separates, or letters. Both in percent, from sums that are divided once; text is compared in NFC.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from unrolled.errors import check_choice
from unrolled.text.characters import cut
from unrolled.text.tokens import split_words

SYMBOLS = ("word", "grapheme")
"""What a symbol is: what white space separates, or a letter with its marks."""


class Errors(NamedTuple):
    """Counts of a line, or their sums."""

    lines: int
    wrong: int
    symbols: int
    edits: int

    @property
    def word_error_rate(self) -> float:
        """In percent; NaN without lines."""
        return 100 * self.wrong / self.lines if self.lines else math.nan

    @property
    def symbol_error_rate(self) -> float:
        """In percent, above 100 if far too much is written; NaN without symbols."""
        return 100 * self.edits / self.symbols if self.symbols else math.nan


def symbols_of(line: str, kind: str) -> list[str]:
    """The symbols of a line in NFC; ``kind`` is one of `SYMBOLS`."""
    check_choice("data.symbols", kind, SYMBOLS)
    line = unicodedata.normalize("NFC", line)
    return split_words(line) if kind == "word" else cut(line.strip(" \t\r\f\v"), unit="grapheme", normalization="nfc")


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest insertions, deletions and substitutions that make ``other`` of ``one``."""
    above = list(range(len(other) + 1))
    for row, symbol in enumerate(one, start=1):
        here = [row]
        for column, another in enumerate(other, start=1):
            # d_ij = min(d_{i-1,j} + 1, d_{i,j-1} + 1, d_{i-1,j-1} + [a_i != b_j])
            here.append(min(above[column] + 1, here[-1] + 1, above[column - 1] + (symbol != another)))
        above = here
    return above[-1]


def errors_of_lines(hypotheses: Sequence[str], references: Sequence[str], kind: str) -> list[Errors]:
    """The counts of every line. ValueError: different numbers of lines."""
    counts = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        written, wanted = symbols_of(hypothesis, kind), symbols_of(reference, kind)
        right = written == wanted
        counts.append(Errors(1, int(not right), len(wanted), 0 if right else edit_distance(written, wanted)))
    return counts


def total(counts: Iterable[Errors]) -> Errors:
    """The sum of counts."""
    return Errors(*map(sum, zip(Errors(0, 0, 0, 0), *counts, strict=True)))
