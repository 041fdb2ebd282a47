"""Whose figures score.py shows, and in what form."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from unrolled.inference.scored_pieces import Pieces
from unrolled.metrics.text_likelihood import unknown_words
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import SPECIALS, UNK


class Column(NamedTuple):
    """Whose figures stand in a column: a run, or several as one."""

    name: str
    tokenizer: Tokenizer

    def unknown(self, line: str, pieces: Pieces) -> list[int]:
        """The numbers of the words of ``line`` outside the vocabulary."""
        written = [piece for piece, _ in pieces]
        if SPECIALS[UNK] not in written:
            return []  # without cutting the line up once more
        return unknown_words(line, written, self.tokenizer.words_of_pieces(line))


class Detail(Protocol):
    """What is shown of lines; see `unrolled.inference.details`."""

    def show(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> str:
        """Of ``lines``, each column's pieces of each."""

    def end(self) -> str:
        """After the last line."""
