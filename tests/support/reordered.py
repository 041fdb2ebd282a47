"""The pairs of one split of the embedded corpus."""

from collections.abc import Iterator

from unrolled.data.generated import Pair
from unrolled.data.reorder.grammar import Grammar, pairs_of_splits


def pairs_of(grammar: Grammar, split: str) -> Iterator[Pair]:
    """Those of "train", "val" or "test"."""
    return (pair for name, pair in pairs_of_splits(grammar) if name == split)
