"""Between words and the pieces that a tokenizer cuts them into. Letters: S source pieces, T target pieces."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

WORD_BEGINS = "\u2581"
"""SentencePiece's mark at the beginning of a word."""


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


def piece_links(
    links: Iterable[tuple[int, int]], source_words: Sequence[int], target_words: Sequence[int]
) -> set[tuple[int, int]]:
    """The (source piece, target piece) links that those between words stand for: all pieces of one with all of another.

    ``source_words`` and ``target_words``: the word of each piece, as `Tokenizer.words_of_pieces` gives them.
    """
    linked = set(links)
    pairs = ((i, j) for i in range(len(source_words)) for j in range(len(target_words)))
    return {(i, j) for i, j in pairs if (source_words[i], target_words[j]) in linked}


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


def _membership(words: Sequence[int]) -> npt.NDArray[np.float64]:
    """``(words, pieces)``, 1 where the piece belongs to the word."""
    index = np.asarray(words, dtype=np.int64)
    return (np.arange(index.max(initial=-1) + 1)[:, None] == index).astype(np.float64)
