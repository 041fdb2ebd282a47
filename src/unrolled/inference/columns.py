"""The columns of score.py's output, and how they are shown."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from unrolled.inference.scored_pieces import Pieces
from unrolled.metrics.text_likelihood import unknown_words
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import SPACE, SPECIALS, UNK


class Column(NamedTuple):
    """The model whose figures are in a column: a run, or several as one."""

    name: str
    tokenizer: Tokenizer

    def unknown(self, line: str, pieces: Pieces) -> list[int]:
        """The numbers of the words of ``line`` outside the vocabulary."""
        written = [piece.removeprefix(SPACE) for piece, _ in pieces]
        if SPECIALS[UNK] not in written:
            return []  # no need to split the line again
        return unknown_words(line, written, self.tokenizer.words_of_pieces(line))


class Detail(Protocol):
    """How scored lines are shown; see `unrolled.inference.details`."""

    def show(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> str:
        """The output for ``lines``; ``scored`` has the pieces of every line for each column."""

    def end(self) -> str:
        """The output after the last line."""
