"""Text given as lists, written to files in the cache: the same text always to the same files.

Pairs are split by distinct sources, so that no sentence of validation or test was trained on; sentences for a language
model, which may be one text, by their order.
"""

import random
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any

from unrolled.api.judged_sentences import check_ordered
from unrolled.configuration.build import local_cache
from unrolled.configuration.composition import options_of, value_in
from unrolled.data.corpus import SPLITS
from unrolled.data.kept import keep, name_in_cache
from unrolled.errors import UserError
from unrolled.files import write_lines

Text = Iterable[str] | Iterable[Sequence[str]]
Lines = tuple[str, ...]
"""(sentence,), or (source, target)."""
SHARE, MOST = 20, 1000
"""One in `SHARE` is for validation and one for test, but at least 1 and at most `MOST`."""


def write_text_of(data: Text | Mapping[str, Text], options: Sequence[str], cache: Any = None) -> list[str]:
    """The options that choose this text: data=parallel_text data.train=... or data=monolingual_text ...

    data: one list, or a dictionary of lists for train, val and test; what is missing is split off train. UserError:
    neither sentences nor pairs, or too few of them.
    """
    given = {"train": data} if not isinstance(data, Mapping) else dict(data)
    for name in given:
        if name not in SPLITS:
            raise UserError(f"data[{name!r}]: give lists for {', '.join(SPLITS)}")
    if "train" not in given:
        raise UserError("data['train'] is missing: give the text to train on")
    lines = {name: _lines(text, "data" if given is not data and len(given) == 1 else f"data[{name!r}]")
             for name, text in given.items()}  # fmt: skip
    kinds = {len(line) for line in chain(*lines.values())}
    if len(kinds) > 1:
        raise UserError("data: some items are pairs and some are sentences: give only pairs or only sentences")
    splits = split_off(lines)
    pairs = kinds == {2}
    named = [value_in(option) for option in options if option.startswith("cache=")]
    folder = _written(splits, Path(cache or (named[-1] if named else local_cache())))
    choice, sides = ("parallel_text", ("source", "target")) if pairs else ("monolingual_text", ("text",))
    files = {
        f"data.{name}": [str(folder / f"{name}.{side}") for side in sides] if pairs else str(folder / f"{name}.text")
        for name in SPLITS
    }
    return [f"data={choice}", *options_of(files)]


def split_off(lines: Mapping[str, Sequence[Lines]]) -> dict[str, list[Lines]]:
    """``lines`` by split, with what is missing taken from train: the same lines each time. UserError: too few."""
    missing = [name for name in ("val", "test") if name not in lines]
    train = list(lines["train"])
    pairs = bool(train) and len(train[0]) == 2
    units = list(dict.fromkeys(line[0] for line in train)) if pairs else list(range(len(train)))
    number = min(max(1, len(units) // SHARE), MOST)
    if missing and len(units) <= number * len(missing):
        raise UserError(
            f"data: {len(units)} {'different sources' if pairs else 'sentences'} are too few to split off "
            f"{' and '.join(missing)}: give more, or lists for each, data={{'train': ..., 'val': ..., 'test': ...}}"
        )
    if pairs:
        random.Random(1).shuffle(units)
    # the last units are for test, those before for validation
    where = dict.fromkeys(units, "train")
    for place, name in enumerate(reversed(missing)):
        where |= dict.fromkeys(units[len(units) - (place + 1) * number : len(units) - place * number], name)
    splits: dict[str, list[Lines]] = {name: list(lines.get(name, [])) for name in SPLITS} | {"train": []}
    for row, line in enumerate(train):
        splits[where[line[0] if pairs else row]].append(line)
    return splits


def _lines(text: Any, name: str) -> list[Lines]:
    if isinstance(text, str) or not isinstance(text, Iterable):
        raise UserError(f"{name}={text!r:.40}: give a list of (source, target) pairs, or of sentences")
    check_ordered(name, text)
    lines = []
    for number, item in enumerate(text):
        ordered = isinstance(item, Iterable) and not isinstance(item, Mapping | Set)
        line = (item,) if isinstance(item, str) else tuple(item) if ordered else ()
        short = len(line) == 1 and not isinstance(item, str)
        if short or len(line) not in (1, 2) or not all(isinstance(side, str) for side in line):
            raise UserError(f"{name}[{number}] is {item!r:.60}: give a pair of texts, or a text")
        if any("\0" in side for side in line):
            raise UserError(f"{name}[{number}]: there is a NUL byte, which is not text")
        lines.append(tuple(map(str, line)))  # not of a subclass, as NumPy has
    if not lines:
        raise UserError(f"{name} is empty: give sentences")
    return lines


def _written(splits: Mapping[str, Sequence[Lines]], cache: Path) -> Path:
    folder = Path(cache).absolute() / "given" / name_in_cache(sorted(splits.items()))

    def write(partial: Path) -> None:
        for name, lines in splits.items():
            sides = ("source", "target") if len(lines[0]) == 2 else ("text",)
            for side, column in zip(sides, zip(*lines, strict=True), strict=True):
                write_lines(partial / f"{name}.{side}", list(column))

    try:
        keep(folder, write)
    except UnicodeEncodeError as problem:
        raise UserError(f"data: {problem.object[problem.start]!r} is half a character, not text") from problem
    return folder
