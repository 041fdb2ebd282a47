"""Error rates of a split: of all lines, by length, by feature."""

import math
from collections.abc import Sequence

from unrolled.metrics.bands import even_edges
from unrolled.metrics.error_rates import Errors, errors_of_lines, total
from unrolled.metrics.source_lengths import source_lengths
from unrolled.text.features import features_of

EDGES = (1, 4, 7, 10, 13)
"""The smallest lengths of the groups, in letters of the source; the first has empty sources too, if there are any."""
WIDTHS = (1, 2, 5, 10, 20)
"""Widths of groups by words: the smallest that makes at most about eight groups is used."""


def error_figures(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], symbols: str, separator: str | None
) -> dict[str, float]:
    """Figures by name, also by `source_lengths`. separator: between features of the sources, None if they have none."""
    lines = errors_of_lines(hypotheses, references, symbols)
    whole = total(lines)
    figures = {"word_error_rate": whole.word_error_rate, "symbol_error_rate": whole.symbol_error_rate}
    if not lines:
        return figures
    unit, lengths = source_lengths(sources)
    edges = [min(EDGES[0], *lengths), *EDGES[1:]] if unit == "letters" else _edges(lengths)
    figures |= _by_length(lines, lengths, edges, "source", unit)
    if symbols == "word":
        words = [errors.symbols for errors in lines]
        figures |= _by_length(lines, words, _edges(words), "target", "words")
    if separator is not None:
        having: dict[str, list[Errors]] = {}
        for source, errors in zip(sources, lines, strict=True):
            for feature in {feature for feature, _ in features_of(source, separator)}:
                having.setdefault(feature, []).append(errors)
        for feature in sorted(having):
            figures |= _rate(f"source of the feature {feature}", having[feature])
    return figures


def _edges(words: Sequence[int]) -> list[int]:
    return [int(edge) for edge in even_edges(words, WIDTHS)]


def _by_length(
    lines: Sequence[Errors], lengths: Sequence[int], edges: Sequence[int], side: str, unit: str
) -> dict[str, float]:
    figures: dict[str, float] = {}
    for low, high in zip(edges, (*(edge - 1 for edge in edges[1:]), math.inf), strict=True):
        most = f"{low}" if low == high else f"{low} to {high}"
        counted = unit.removesuffix("s") if most == "1" else unit
        what = f"{side} of {low} {unit} or more" if math.isinf(high) else f"{side} of {most} {counted}"
        figures |= _rate(what, [errors for errors, length in zip(lines, lengths, strict=True) if low <= length <= high])
    return figures


def _rate(what: str, errors: Sequence[Errors]) -> dict[str, float]:
    return {f"word_error_rate, {what} ({len(errors)} lines)": total(errors).word_error_rate} if errors else {}
