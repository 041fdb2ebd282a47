"""Word alignments: Pharaoh files, scores against known ones, and links read off attention weights.

A link is (i, j): source word i goes with target word j, both from 0. Letters: S source length, T target length.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.data.text import read_lines
from unrolled.errors import UserError

Links = set[tuple[int, int]]
WORD_BEGINS = "\u2581"
"""SentencePiece's mark at the beginning of a word."""


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


class AlignmentScores(NamedTuple):
    """Scores over all links of a corpus, as shares; NaN where there is nothing to divide by. Lower AER is better."""

    aer: float
    precision: float
    recall: float
    links: int
    """Found links."""


def alignment_scores(found: Sequence[Links], gold: Sequence[tuple[Links, Links]]) -> AlignmentScores:
    """Och & Ney 2003, "A systematic comparison of various statistical alignment models", section 6.

    ``found`` and ``gold`` (sure, possible) have one entry a sentence pair; ValueError if they are not equally many.
    Counts are summed over the corpus before the division.
    """
    a = s = in_s = in_p = 0
    for links, (sure, possible) in zip(found, gold, strict=True):
        a += len(links)
        s += len(sure)
        in_s += len(links & sure)
        in_p += len(links & (sure | possible))
    return AlignmentScores(
        aer=1 - _share(in_s + in_p, a + s),  # 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
        precision=_share(in_p, a),  # |A ∩ P| / |A|
        recall=_share(in_s, s),  # |A ∩ S| / |S|
        links=a,
    )


def word_index(pieces: Sequence[str], *, specials: Sequence[str] = ("<s>", "</s>", "<pad>")) -> list[int]:
    """The number of the word that each piece belongs to; -1 for ``specials``, which belong to none.

    SentencePiece marks where a word begins, always the first; without any mark every piece is a word. A lone mark
    belongs to the word that it begins, a piece of several words to its first.
    """
    marked = any(WORD_BEGINS in piece for piece in pieces)
    index, word, begins = [], -1, True
    for piece in pieces:
        if piece in specials:
            index.append(-1)
            continue
        begins = begins or not marked or piece.startswith(WORD_BEGINS)
        words = piece.replace(WORD_BEGINS, " ").split()
        index.append(word + begins)
        if words:
            word += begins + len(words) - 1
            begins = piece.endswith(WORD_BEGINS)
    return [number if number <= word else -1 for number in index]  # a mark at the end begins no word


def word_weights(
    weights: npt.ArrayLike, source_words: Sequence[int], target_words: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Attention weights between words from those between pieces.

    ``weights (T, S)`` between pieces and the word of each piece, -1 for none, as ``word_index`` gives them. Returns
    ``(target words, source words)``: what a target word looks at is the mean over its pieces, and what a source word
    gets the sum over its.
    """
    source, target = _membership(source_words), _membership(target_words)
    return (target / target.sum(axis=1, keepdims=True).clip(min=1)) @ np.asarray(weights, dtype=np.float64) @ source.T


def links_from_weights(weights: npt.ArrayLike) -> Links:
    """Each target word with the source word that it looks at most, of equals the first. ``weights (T, S)``."""
    weights = np.asarray(weights)
    if weights.size == 0:
        return set()
    return {(int(source), target) for target, source in enumerate(weights.argmax(axis=1))}


def _membership(words: Sequence[int]) -> npt.NDArray[np.float64]:
    """``(words, pieces)``, 1 where the piece belongs to the word."""
    index = np.asarray(words, dtype=np.int64)
    return (np.arange(index.max(initial=-1) + 1)[:, None] == index).astype(np.float64)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
