"""Between words and the pieces that a tokenizer cuts them into. Letters: S source pieces, T target pieces."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unrolled.alignment.links import Links
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import SILENT, SPACE, WORD, split_words


def words_of_line(tokenizer: Tokenizer, line: str) -> list[int]:
    """The number of the word that each piece of ``line`` belongs to; -1 for what comes after the last word."""
    count = len(split_words(line))
    return [number if number < count else -1 for number in tokenizer.words_of_pieces(line)]


def words_of_ids(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """The same for ``ids``, which may differ from those that the tokenizer cuts their text into.

    A piece belongs to the word of the first letter that it adds to the text, or, if it adds a mark to a letter, to the
    word of that letter.
    """
    text = tokenizer.decode(ids)
    if tokenizer.encode([text])[0] == list(ids):
        return words_of_line(tokenizer, text)
    ends = [word.end() for word in WORD.finditer(text)]
    numbers, start = [], 0
    for count, token in enumerate(ids, start=1):
        end = len(tokenizer.decode(ids[:count]))
        letter = WORD.search(text, start, end)
        adds_a_mark = end <= start and tokenizer.pieces([token]) != [SPACE]
        place = letter.start() if letter else start - adds_a_mark
        number = bisect_right(ends, max(place, 0))
        numbers.append(number if number < len(ends) and token not in SILENT else -1)
        start = end
    return numbers


def word_weights(
    weights: npt.ArrayLike, source_words: Sequence[int], target_words: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Attention weights between words from those between pieces.

    ``weights (T, S)`` between pieces, and the word of each piece, -1 for none, as in `words_of_line`. Returns
    ``(target words, source words)``: the mean over the pieces of a target word, the sum over those of a source word.
    """
    source, target = _membership(source_words), _membership(target_words)
    return (target / target.sum(axis=1, keepdims=True).clip(min=1)) @ np.asarray(weights, dtype=np.float64) @ source.T


def piece_links(links: Links, source_words: Sequence[int], target_words: Sequence[int]) -> list[tuple[int, int, int]]:
    """(source piece, target piece, n) for the pieces of linked words: a weight of 1/n.

    The weights of a target piece sum to 1. ``source_words`` and ``target_words`` give the word of each piece. A target
    word's weight is shared equally among the words that it is linked to, and a word's share among its pieces;
    `word_weights` inverts this. Words without pieces are omitted.
    """
    sources, targets = _places(source_words), _places(target_words)
    linked: dict[int, list[int]] = {}
    for i, j in sorted(links):
        if i in sources:
            linked.setdefault(j, []).append(i)
    return [
        (s, t, len(words) * len(sources[i]))
        for j, words in linked.items()
        for t in targets.get(j, ())
        for i in words
        for s in sources[i]
    ]


def _places(words: Sequence[int]) -> dict[int, list[int]]:
    """The pieces of each word."""
    places: dict[int, list[int]] = {}
    for piece, word in enumerate(words):
        places.setdefault(word, []).append(piece)
    return places


def _membership(words: Sequence[int]) -> npt.NDArray[np.float64]:
    """``(words, pieces)``, 1 where the piece belongs to the word."""
    index = np.asarray(words, dtype=np.int64)
    return (np.arange(index.max(initial=-1) + 1)[:, None] == index).astype(np.float64)


Alignment = tuple[Links, Links]


"""(sure, possible) links."""


def piece_alignment(
    alignment: Alignment, source: str, target: str, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> Alignment:
    """The links between pieces that represent those between words."""
    words = words_of_line(source_tokenizer, source), words_of_line(target_tokenizer, target)
    sure, possible = alignment
    pairs = ({(i, j) for i, j, _ in piece_links(links, *words)} for links in (sure, possible))
    return next(pairs), next(pairs)
