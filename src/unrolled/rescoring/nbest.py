"""Lists of several translations of each sentence, written by translate.py nbest=N and extended by rescore.py.

One line per entry, sentences numbered from 0 in order: ``number ||| text ||| name=value name=value ... ||| score``.
"""

from collections.abc import Iterable, Mapping
from math import inf, isfinite
from typing import NamedTuple

from unrolled.errors import UserError

BAR = " ||| "
LEAST = -10_000.0
"""log p of a translation that a model gives probability 0: weights times minus infinity would choose nothing."""


class Entry(NamedTuple):
    """One translation in a list: its text, features by name, and score."""

    text: str
    features: Mapping[str, float]
    score: float


def format_entry(number: int, entry: Entry) -> str:
    """The line of ``entry`` in the list of sentence ``number``."""
    features = " ".join(f"{name}={value:.6f}" for name, value in entry.features.items())
    return BAR.join((str(number), entry.text, features, f"{entry.score:.6f}"))


def parse_nbest(lines: Iterable[str], name: str) -> list[list[Entry]]:
    """The list of every sentence. ``name`` is the file's name in messages.

    UserError with file and line: a malformed entry, a number that is neither the last one nor the next, features with
    names other than the first entry's.
    """
    lists: list[list[Entry]] = []
    names: list[str] = []
    for place, line in enumerate(lines, start=1):
        where = f"{name}:{place}"
        number, entry = _parse(line, where)
        names = names or list(entry.features)
        if list(entry.features) != names:
            raise UserError(f"{where}: features {', '.join(entry.features)}, but above {', '.join(names)}")
        if number == len(lists):
            lists.append([])
        if number != len(lists) - 1 or number < 0:
            before = f"sentence {number} after sentence {len(lists) - 1}" if lists else f"sentence {number} comes first"
            raise UserError(f"{where}: {before}: one is missing or out of order; they are numbered from 0")
        lists[-1].append(entry)
    return lists


def _parse(line: str, where: str) -> tuple[int, Entry]:
    try:
        # the text may contain bars, what is around it may not
        number, rest = line.split(BAR, 1)
        text, features, score = rest.rsplit(BAR, 2)
        pairs = [feature.split("=") for feature in features.split()]
        values = {key: _number(value) for key, value in pairs}
        entry = Entry(text, values, _number(score))
        if len(values) < len(pairs) or not all(map(isfinite, (*entry.features.values(), entry.score))):
            raise ValueError
        return int(number), entry
    except ValueError as problem:
        raise UserError(
            f"{where}: this is not an entry of an n-best list: number ||| text ||| name=value ... ||| score"
        ) from problem


def _number(text: str) -> float:
    return finite(float(text))


def finite(log_p: float) -> float:
    """``log_p``, or `LEAST` for minus infinity."""
    return LEAST if log_p == -inf else log_p
