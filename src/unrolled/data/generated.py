"""What corpora that are generated have in common: pairs of sentences with gold links, and their files."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

SPLITS = ("test", "val", "train")  # in the order in which they are drawn


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence pair with its gold word alignment: 0-based (source position, target position), sorted."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]


def write_corpus(folder: Path, pairs: Iterable[tuple[str, Pair]]) -> None:
    """Write SPLIT.source, SPLIT.target and SPLIT.align (links as `i-j`), one pair per line.

    pairs: each with "train", "val" or "test", its split.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        files = {
            (split, side): stack.enter_context((folder / f"{split}.{side}").open("w", encoding="utf-8", newline="\n"))
            for split in SPLITS
            for side in ("source", "target", "align")
        }
        for split, pair in pairs:
            files[split, "source"].write(" ".join(pair.source) + "\n")
            files[split, "target"].write(" ".join(pair.target) + "\n")
            files[split, "align"].write(" ".join(f"{i}-{j}" for i, j in pair.links) + "\n")
