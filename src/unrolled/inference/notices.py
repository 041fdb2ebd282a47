"""What a reader of score.py's figures should also know, printed once to stderr."""

import logging
from collections.abc import Sequence

from unrolled.errors import counted
from unrolled.inference.columns import Column
from unrolled.inference.scored_pieces import Pieces
from unrolled.metrics.text_likelihood import impossible
from unrolled.text.tokens import split_words

log = logging.getLogger(__name__)
EXAMPLES = 5
"""The number of unknown words that a notice names."""
LONGEST = 60
"""The number of characters of a word that a notice shows."""


class Notices:
    """What a reader of the figures should know: unknown words, and lines with probability 0."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._lines = self._words = 0
        self._unknown: list[list[str]] = [[] for _ in columns]
        self._impossible = [0 for _ in columns]

    def add(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> None:
        """Count what is notable in ``lines``."""
        self._lines += len(lines)
        self._words += sum(len(split_words(line)) for line in lines)
        for number, (column, of_lines) in enumerate(zip(self._columns, scored, strict=True)):
            for line, pieces in zip(lines, of_lines, strict=True):
                self._unknown[number] += [split_words(line)[word] for word in column.unknown(line, pieces)]
                self._impossible[number] += impossible([log_p for _, log_p in pieces])

    def end(self) -> None:
        """Log them, one line per run and kind, if there are any."""
        for column, unknown, lines in zip(self._columns, self._unknown, self._impossible, strict=True):
            if unknown:
                examples = list(dict.fromkeys(unknown))
                log.warning(
                    "%s: %d of %s (%.3g%%) %s outside the vocabulary and scored as <unk>: %s",
                    column.name,
                    len(unknown),
                    counted(self._words, "word"),
                    100 * len(unknown) / self._words,
                    "is" if len(unknown) == 1 else "are",
                    ", ".join(map(_short, examples[:EXAMPLES])) + (", ..." if len(examples) > EXAMPLES else ""),
                )
            if lines:
                log.warning("%s: probability 0 (-inf) of %d of %s", column.name, lines, counted(self._lines, "line"))


def _short(word: str) -> str:
    return word if len(word) <= LONGEST else f"{word[:LONGEST]}..."
