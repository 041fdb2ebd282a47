"""Sentence pairs as numbers: every word has one, and so has every source word with a target word beside it.

Letters: B sentence pairs of one size, n source words, m target words, W different pairs of a source and a target word
that stand in one sentence pair, V different words of a side.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.text.tokens import split_words

Integers = NDArray[Any]

CELLS = (
    2**18
)  # source words times target words of a block's sentence pairs: what is computed of them stays in the cache
PENDING = 2**22  # numbers that are sorted together at least


@dataclass(frozen=True)
class Block:
    """Sentence pairs with equally many source words and equally many target words.

    lines (B): their numbers. target (B, m): the target words. pairs (B, n, m): the word pairs.
    """

    lines: Integers
    source: Integers
    target: Integers
    pairs: Integers

    def transposed(self) -> "Block":
        """Source and target exchanged."""
        return Block(self.lines, self.target, self.source, self.pairs.transpose(0, 2, 1))


@dataclass(frozen=True)
class WordPairs:
    """A parallel text.

    source (W), target (W): the two words of each word pair. source_words, target_words: V of the two sides.
    lines: the number of sentence pairs. blocks: all those that have words on both sides.
    """

    source: Integers
    target: Integers
    source_words: int
    target_words: int
    lines: int
    blocks: list[Block]

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
    """Line i of one side belongs to line i of the other; words are what white space separates, as they stand.

    Takes 4 bytes for every source word times target word of a sentence pair, and 16 for every word pair.
    """
    source, source_words = _Side.read(sources)
    target, target_words = _Side.read(targets)
    lines = list(_same_size(source.lengths, target.lengths))

    def keys(lines: Integers) -> Integers:  # (B, n, m): one number for two words
        return source.at(lines)[:, :, None].astype(np.int64) * target_words + target.at(lines)[:, None, :]

    known = _distinct(keys(each) for each in lines)
    return WordPairs(
        source=(known // max(target_words, 1)).astype(np.int32),
        target=(known % max(target_words, 1)).astype(np.int32),
        source_words=source_words,
        target_words=target_words,
        lines=len(source.lengths),
        blocks=[
            Block(each, source.at(each), target.at(each), np.searchsorted(known, keys(each)).astype(np.int32))
            for each in lines
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
        """(B, n) the words of lines that have equally many."""
        return self.words[self.starts[lines, None] + np.arange(self.lengths[lines[0]])]


def _same_size(source_lengths: Integers, target_lengths: Integers) -> Iterator[Integers]:
    """Lines with equal lengths on either side, CELLS at most if there are several. None of them has an empty side."""
    order = np.lexsort((target_lengths, source_lengths))
    order = order[(source_lengths[order] > 0) & (target_lengths[order] > 0)]
    sizes = np.stack([source_lengths[order], target_lengths[order]])
    borders = np.flatnonzero((sizes[:, 1:] != sizes[:, :-1]).any(axis=0)) + 1
    for lines in np.split(order, borders):
        if len(lines) > 0:
            step = max(1, CELLS // int(source_lengths[lines[0]] * target_lengths[lines[0]]))
            yield from np.split(lines, range(step, len(lines), step))


def _distinct(parts: Iterable[Integers]) -> Integers:
    """The different numbers of all parts, sorted; in memory of a few times what it returns."""
    known, new = np.empty(0, np.int64), []
    for part in parts:
        new.append(np.unique(part))
        if sum(map(len, new)) > max(len(known), PENDING):  # seldom, as it sorts all
            known, new = np.unique(np.concatenate([known, *new])), []
    return np.unique(np.concatenate([known, *new]))
