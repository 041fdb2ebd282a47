"""What generated corpora have in common: pairs of sentences with gold links, and their files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from unrolled.errors import Numbers, UserError, check

SPLITS = ("test", "val", "train")  # in the order in which they are drawn
PATIENCE = 2000  # draws without a new sentence before giving up


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence pair with its gold word alignment: 0-based (source position, target position), sorted."""

    source: list[str]
    target: list[str]
    links: list[tuple[int, int]]


def check_options(
    where: str, options: object, ranges: Mapping[str, Numbers], ordered: Iterable[tuple[str, str]]
) -> None:
    """UserError: a number of ``options`` outside its range, or a pair of ``ordered`` whose second is below the first.

    where: the options' place in the configuration, for messages.
    """
    for name, allowed in ranges.items():
        check(f"{where}.{name}", getattr(options, name), allowed)
    for least, most in ordered:
        if getattr(options, most) < getattr(options, least):
            what = f"{where}.{most}={getattr(options, most)} is below {where}.{least}={getattr(options, least)}"
            raise UserError(f"{what}: raise it")


def distinct_pairs(
    name: str, sizes: Mapping[str, int], draw: Callable[[str], Pair | None], *, mend: Mapping[str, str]
) -> Iterator[tuple[str, Pair]]:
    """As many pairs for each split as ``sizes`` says, each with its split; no source sentence occurs twice.

    draw: returns a random pair for a split, or None if it found none. UserError, with how to ``mend`` it for
    each split: the corpus ``name`` has fewer.
    """
    seen: set[str] = set()
    for split in SPLITS:
        for _ in range(sizes[split]):
            for _ in range(PATIENCE):
                pair = draw(split)
                if pair is not None and (sentence := " ".join(pair.source)) not in seen:
                    break
            else:
                raise UserError(
                    f"{name}: found only {len(seen)} different sentences, {sum(sizes.values())} are needed; "
                    f"{mend[split]}"
                )
            seen.add(sentence)
            yield split, pair


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
