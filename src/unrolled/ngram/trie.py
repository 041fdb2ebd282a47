"""n-grams as a trie in one sorted tensor of keys: looking up and listing n-grams.

Node 0 is the empty context, node i has the i-th key: (node of its context) x V + (its last word), V the vocabulary's
size. So nodes of longer n-grams come later, the continuations of a context are adjacent, and the nodes 1 to V are the
single words. M n-grams of one length k.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class NgramBlock(NamedTuple):
    """Some n-grams of one length k: ``words (M, k)``, and ``log_probs`` and ``log_backoffs`` ``(M,)``, natural.

    The longest n-grams of a model are no contexts and have no weights: ``(0,)``.
    """

    words: Tensor
    log_probs: Tensor
    log_backoffs: Tensor


class MisplacedNgram(Exception):
    """An n-gram, ``words`` as ids, that cannot be stored: it occurs twice, or its context is missing."""

    def __init__(self, words: list[int], what: str) -> None:
        super().__init__(f"n-gram {words} {what}")
        self.words = words
        self.what = what


def find(keys: Tensor, wanted: Tensor) -> Tensor:
    """The node of each ``wanted`` key, -1 if there is none; any shape. Keys under node -1 are below 0."""
    places = torch.searchsorted(keys, wanted).clamp_max(len(keys) - 1)
    return torch.where(keys[places] == wanted, places + 1, -1)


def node_keys(levels: Sequence[tuple[Tensor, Tensor]], vocabulary: int) -> Tensor:
    """All keys from the n-grams of each length, sorted: indices of contexts among the shorter ones, last words."""
    keys, first, following = [], 0, 1  # the first node of the contexts, and of the n-grams
    for contexts, words in levels:
        keys.append((contexts + first) * vocabulary + words)
        first, following = following, following + len(words)
    return torch.cat(keys)


def keys_of(levels: Sequence[Tensor], vocabulary: int) -> tuple[Tensor, list[Tensor]]:
    """All keys, and for each length the order that sorts its n-grams ``(M, k)``. MisplacedNgram: as it says."""
    keys, orders = torch.zeros(0, dtype=torch.int64), []
    for words in levels:
        nodes = torch.zeros(len(words), dtype=torch.int64)
        for word in words[:, :-1].long().unbind(1):
            nodes = find(keys, nodes * vocabulary + word)
        level_keys, order = (nodes * vocabulary + words[:, -1]).sort()
        twice = level_keys.diff(prepend=level_keys.new_tensor([-1])) == 0
        for wrong, what in ((level_keys < 0, "has no context: all but its last word"), (twice, "is there twice")):
            if wrong.any():
                raise MisplacedNgram(words[order[wrong][0]].tolist(), what)
        keys = torch.cat([keys, level_keys])
        orders.append(order)
    return keys, orders


def blocks(
    keys: Tensor, log_probs: Tensor, log_backoffs: Tensor, *, vocabulary: int, order: int, rows: int
) -> Iterator[Iterator[NgramBlock]]:
    """The n-grams of each length 1 to ``order``, sorted, as blocks of up to ``rows``."""
    ends = level_ends(keys, vocabulary, order)
    for length, (start, end) in enumerate(zip([0, *ends], ends, strict=False), start=1):
        yield (
            _block(keys, log_probs, log_backoffs, vocabulary, length, slice(first, min(first + rows, end)))
            for first in range(start, end, rows)
        )


def level_ends(keys: Tensor, vocabulary: int, order: int) -> list[int]:
    """How many n-grams there are up to each length 1 to ``order``."""
    ends = [vocabulary]
    for _ in range(order - 1):  # their contexts are nodes up to the last one of the previous length
        ends.append(int(torch.searchsorted(keys, (ends[-1] + 1) * vocabulary)))
    return ends


def _block(
    keys: Tensor, log_probs: Tensor, log_backoffs: Tensor, vocabulary: int, length: int, rows: slice
) -> NgramBlock:
    words, nodes = [], torch.arange(rows.start, rows.stop) + 1
    for _ in range(length):
        key = keys[nodes - 1]
        words.append(key % vocabulary)
        nodes = key // vocabulary
    return NgramBlock(torch.stack(words[::-1], dim=1), log_probs[rows], log_backoffs[rows])
