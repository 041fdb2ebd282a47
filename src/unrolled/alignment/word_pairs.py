"""Sentence pairs as numbers: each word has a number, and so has each pair of words that occur in a sentence pair.

Letters: B sentence pairs of equal size, n source words, m target words, W different pairs of a source and a target word
that occur in the same sentence pair, V different words on a side.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.text.tokens import split_words

Integers = NDArray[Any]

CELLS = 2**18  # source words times target words of a block: small enough that its arrays stay in the cache
PENDING = 2**22  # the fewest numbers that are sorted together


@dataclass(frozen=True)
class SameLengths:
    """Sentence pairs with equally many source words and equally many target words.

    lines (B): their numbers. target (B, m): the target words. pairs (B, n, m): the word pairs.
    """

    lines: Integers
    source: Integers
    target: Integers
    pairs: Integers

    def transposed(self) -> "SameLengths":
        """Source and target exchanged."""
        return SameLengths(self.lines, self.target, self.source, self.pairs.transpose(0, 2, 1))


@dataclass(frozen=True)
class WordPairs:
    """A parallel text.

    source (W), target (W): the two words of each word pair. source_words, target_words: V of the two sides.
    lines: the number of sentence pairs. blocks: all sentence pairs with words on both sides.
    """

    source: Integers
    target: Integers
    source_words: int
    target_words: int
    lines: int
    blocks: list[SameLengths]

    @property
    def target_tokens(self) -> int:
        """Target words of all blocks."""
        return sum(block.target.size for block in self.blocks)

    def transposed(self) -> "WordPairs":
        """Source and target exchanged; nothing is copied."""
        return WordPairs(
            source=self.target,
            target=self.source,
            source_words=self.target_words,
            target_words=self.source_words,
            lines=self.lines,
            blocks=[block.transposed() for block in self.blocks],
        )


def number_words(sources: Sequence[str], targets: Sequence[str]) -> WordPairs:
    """Line i of one side belongs to line i of the other; words are what white space separates.

    Takes 4 bytes for every source word times target word of a sentence pair, and 16 for every word pair.
    """
    source, source_words = _Side.read(sources)
    target, target_words = _Side.read(targets)
    lines = list(_same_size(source.lengths, target.lengths))

    def keys(lines: Integers) -> Integers:  # (B, n, m): one number for two words
        return source.at(lines)[:, :, None].astype(np.int64) * target_words + target.at(lines)[:, None, :]

    known = _distinct(keys(of_one_size) for of_one_size in lines)
    return WordPairs(
        source=(known // max(target_words, 1)).astype(np.int32),
        target=(known % max(target_words, 1)).astype(np.int32),
        source_words=source_words,
        target_words=target_words,
        lines=len(source.lengths),
        blocks=[
            SameLengths(
                of_one_size,
                source.at(of_one_size),
                target.at(of_one_size),
                np.searchsorted(known, keys(of_one_size)).astype(np.int32),
            )
            for of_one_size in lines
        ],
    )


@dataclass(frozen=True)
class _Side:
    """The words of all lines, one line after the other."""

    words: Integers
    lengths: Integers
    starts: Integers

    @classmethod
    def read(cls, lines: Sequence[str]) -> tuple["_Side", int]:
        """Also the number of different words."""
        numbers: dict[str, int] = {}
        split = [[numbers.setdefault(word, len(numbers)) for word in split_words(line)] for line in lines]
        lengths = np.array([len(words) for words in split], np.int64)
        words = np.fromiter(chain.from_iterable(split), np.int32, lengths.sum())
        return cls(words, lengths, np.cumsum(lengths) - lengths), len(numbers)

    def at(self, lines: Integers) -> Integers:
        """(B, n): the words of lines of equal length."""
        return self.words[self.starts[lines, None] + np.arange(self.lengths[lines[0]])]


def _same_size(source_lengths: Integers, target_lengths: Integers) -> Iterator[Integers]:
    """Lines with equal lengths on both sides and no empty side, in groups of at most CELLS unless a line is larger."""
    order = np.lexsort((target_lengths, source_lengths))
    order = order[(source_lengths[order] > 0) & (target_lengths[order] > 0)]
    sizes = np.stack([source_lengths[order], target_lengths[order]])
    borders = np.flatnonzero((sizes[:, 1:] != sizes[:, :-1]).any(axis=0)) + 1
    for lines in np.split(order, borders):
        if len(lines) > 0:
            step = max(1, CELLS // int(source_lengths[lines[0]] * target_lengths[lines[0]]))
            yield from np.split(lines, range(step, len(lines), step))


def _distinct(arrays: Iterable[Integers]) -> Integers:
    """The different numbers in all arrays, sorted; needs a few times the memory of the result."""
    known, new = np.empty(0, np.int64), []
    for numbers in arrays:
        new.append(np.unique(numbers))
        if sum(map(len, new)) > max(len(known), PENDING):  # seldom, as it sorts everything
            known, new = np.unique(np.concatenate([known, *new])), []
    return np.unique(np.concatenate([known, *new]))
