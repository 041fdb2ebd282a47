"""What score.py shows, with a class for each choice in conf/detail. Letters: L lines, C columns (runs)."""

import json
from collections.abc import Sequence
from itertools import chain
from math import isfinite

from unrolled.inference.columns import Column
from unrolled.inference.scored_pieces import Pieces
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.metrics.text_likelihood import BIT, TextLikelihood, per_word, words_without_pieces
from unrolled.text.table import table
from unrolled.text.tokens import split_words

Scored = Sequence[Sequence[Pieces]]
"""``(C, L)``: the pieces of every line for every run, with natural log-probabilities, </s> last."""


def log_probability(pieces: Pieces) -> float:
    """The natural log-probability of a line."""
    return sum(log_p for _, log_p in pieces)


class LogProbabilities:
    """A line's natural log-probability; several runs get a column each, separated by tabs."""

    def __init__(self, *, columns: Sequence[Column]) -> None:
        pass

    def show(self, lines: Sequence[str], scored: Scored) -> str:
        """A line for each of ``lines``."""
        rows = zip(*scored, strict=True)
        return "".join("\t".join(f"{log_probability(pieces):.6f}" for pieces in row) + "\n" for row in rows)

    def end(self) -> str:
        """Nothing."""
        return ""


class Tokens:
    """JSON, one line for each line and run: {"log_probability": p, "tokens": [[piece, p], ...]}.

    JSON has no infinity: log 0 is null.
    """

    def __init__(self, *, columns: Sequence[Column]) -> None:
        self._columns = columns

    def show(self, lines: Sequence[str], scored: Scored) -> str:
        """The lines in JSON."""
        shown = []
        for row in zip(*scored, strict=True):
            for column, pieces in zip(self._columns, row, strict=True):
                content = {
                    "log_probability": _finite(log_probability(pieces)),
                    "tokens": [(piece, _finite(log_p)) for piece, log_p in pieces],
                }
                named = {"run": column.name} if len(self._columns) > 1 else {}
                shown.append(json.dumps(named | content, ensure_ascii=False) + "\n")
        return "".join(shown)

    def end(self) -> str:
        """Nothing."""
        return ""


class WordByWord:
    """A table for every line: -log2 p of each word given its history by every run, their average, and the perplexity.

    As in Cho's lecture on n-gram modelling ("How likely is this sentence?"): </s> is the last word, perplexity =
    2^average.
    """

    def __init__(self, *, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._begun = False

    def show(self, lines: Sequence[str], scored: Scored) -> str:
        """The tables, separated by empty lines."""
        shown = []
        for line, row in zip(lines, zip(*scored, strict=True), strict=True):
            shown.append(("\n" if self._begun else "") + self._table(line, row))
            self._begun = True
        return "".join(shown)

    def _table(self, line: str, row: Sequence[Pieces]) -> str:
        words = split_words(line)
        cells = []
        for column, pieces in zip(self._columns, row, strict=True):
            of_pieces = [log_p for _, log_p in pieces]
            log_probs = per_word(of_pieces, column.tokenizer.words_of_pieces(line), len(words))
            line_sum = LogLikelihood(-sum(log_probs), len(log_probs))
            bits = [*(-log_p / BIT for log_p in log_probs), line_sum.loss / BIT, line_sum.perplexity]
            cells.append([column.name, *(f"{value:z.3f}" for value in bits)])
        return table(list(zip(["word", *words, "</s>", "average", "perplexity"], *cells, strict=True)))

    def end(self) -> str:
        """Nothing."""
        return ""


class CorpusFigures:
    """Figures for all lines together, a column per run; see `unrolled.metrics.text_likelihood.TextLikelihood`."""

    def __init__(self, *, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._sums = [TextLikelihood() for _ in columns]

    def show(self, lines: Sequence[str], scored: Scored) -> str:
        """Nothing yet."""
        for line, row in zip(lines, zip(*scored, strict=True), strict=True):
            unknown = [column.unknown(line, pieces) for column, pieces in zip(self._columns, row, strict=True)]
            words = [column.tokenizer.words_of_pieces(line) for column in self._columns]
            unknown_to_any = set(chain(*unknown, *(words_without_pieces(line, of_run) for of_run in words)))
            for sums, pieces, to_run, of_run in zip(self._sums, row, unknown, words, strict=True):
                log_probs = [log_p for _, log_p in pieces]
                sums.add(line, log_probs, of_run, unknown=to_run, unknown_to_any=unknown_to_any)
        return ""

    def end(self) -> str:
        """The table."""
        figures = [sums.figures() for sums in self._sums]
        rows = [["", *(column.name for column in self._columns)]]
        for name in figures[0]:
            rows.append([name, *(_figure(of_run[name]) for of_run in figures)])
        return table(rows)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _figure(value: int | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
