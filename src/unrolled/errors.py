"""Mistakes that the user can mend: `UserError`, the nearest of several choices, checks of values."""

import errno
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol
from unicodedata import category

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CLOSE = 0.55
"""The least similarity of a word and a choice that may have been meant: `difflib`'s ratio."""
INSTALLED, AS_MODULE = "unrolled", "python -m unrolled"
"""The installed command, as sys.argv[0] has it before the name of the command to run."""


class UserError(Exception):
    """A mistake in the user's input, described in one line: what is wrong, where, and how to mend it.

    Commands print the message to stderr without a traceback and end with exit status 2.
    """


def no_space(problem: BaseException) -> OSError | None:
    """The error of a full disk that is the cause of ``problem``, None if it has another."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL:
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def was_interrupted(problem: BaseException) -> bool:
    """Whether Ctrl-C is the cause of ``problem``, which a library raised instead."""
    cause: BaseException | None = problem
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def printable(line: str) -> str:
    """``line`` with line ends and control characters written out: a name in somebody else's file may have any."""
    hidden = {"Cc", "Cs", "Zl", "Zp"}  # of Unicode's categories
    return "".join(repr(char)[1:-1] if category(char) in hidden else char for char in line)


def called(command: str) -> str:
    """``command`` as this process was called: train.py from the scripts of a clone, else unrolled train."""
    program = Path(sys.argv[0] if sys.argv else "")
    if program.suffix == ".py" and program.parent.name == "src":
        return f"{command}.py"
    return f"{AS_MODULE if str(program).startswith(AS_MODULE) else INSTALLED} {command}"


def closest(word: str, choices: Collection[str], cutoff: float = CLOSE) -> str | None:
    """The choice spelt most like ``word``; None if no similarity, at most 1, reaches ``cutoff``."""
    return next(iter(get_close_matches(word, choices, n=1, cutoff=cutoff)), None)


def nearest(word: str, choices: Collection[str], otherwise: str = "there are") -> str:
    """The end of a message that says what ``word`` may have meant, compared as a whole or, as in a_size, in parts.

    If nothing is near, it lists all ``choices`` after ``otherwise``.
    """
    if close := closest(word, choices):
        return f"; did you mean {close}?"
    choices = [choice for choice in choices if not choice.startswith("_")]
    alike = {
        choice: max(SequenceMatcher(None, word, segment).ratio() for segment in re.split(r"[_.]", choice))
        for choice in choices
    }
    best = max(alike.values(), default=0.0)
    if best > CLOSE:
        *most, last = sorted(choice for choice in choices if alike[choice] == best)
        return f"; did you mean {' or '.join([', '.join(most), last] if most else [last])}?"
    return f"; {otherwise} {', '.join(choices)}" if choices else ""


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """UserError with the nearest of ``choices``, or all of them, unless ``value`` is one."""
    if not (isinstance(value, str) and value in choices):
        raise UserError(f"{name}={shown(value)} is unknown{nearest(shown(value), choices, 'give one of')}")


class Allowed(Protocol):
    """The values that an option may have; as a string, what to give, such as "a number from 0"."""

    def __contains__(self, value: object, /) -> bool: ...


def check(name: str, value: object, allowed: Allowed) -> None:
    """UserError unless the ``value`` of the option ``name`` is ``allowed``."""
    if value not in allowed:
        as_text = isinstance(allowed, Numbers) and isinstance(value, str) and _reads_as_a_number(value)
        given = f"'{value}'" if as_text else shown(value)
        raise UserError(f"{name}={given}: give {allowed}")


def _reads_as_a_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class OneOf:
    """Any of a few values."""

    values: tuple[str | bool | None, ...]

    def __contains__(self, value: object) -> bool:
        return any(type(value) is type(other) and value == other for other in self.values)

    def __str__(self) -> str:
        *most, last = map(shown, self.values)
        return f"{', '.join(most)} or {last}"


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """least <= x, above < x, x <= most, x < below; never infinity, NaN, true or false.

    whole: no fractions. also: values that mean something else, such as None for no limit. instead: what else to do.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    whole: bool = False
    also: tuple[Any, ...] = ()
    instead: str = ""

    def __contains__(self, value: object) -> bool:
        if any(type(value) is type(other) and value == other for other in self.also):
            return True
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value
        low = -inf if self.least is None else self.least
        high = inf if self.most is None else self.most
        above = self.above is None or number > self.above
        below = self.below is None or number < self.below
        return bool(above and below and low <= number <= high and abs(number) < inf)

    def __str__(self) -> str:
        """Such as "a whole number from 1, or null"."""
        if self.above is not None:
            high = "" if self.most is None else f", at most {self.most}"
            high += "" if self.below is None else f" and below {self.below}"
            limits = f" above {self.above}{high}"
        else:
            limits = "" if self.least is None else f" from {self.least}"
            limits += "" if self.most is None else f" to {self.most}"
            limits += "" if self.below is None else f" to below {self.below}"
        kind = "a whole number" if self.whole else "a number"
        return ", or ".join([f"{kind}{limits}", *map(shown, self.also), *filter(None, [self.instead])])


FLAG = OneOf((True, False))
POSITIVE_WHOLE = Numbers(least=1, whole=True)
WHOLE = Numbers(least=0, whole=True)
POSITIVE = Numbers(above=0)
NOT_NEGATIVE = Numbers(least=0)


def counted(number: int, noun: str) -> str:
    """1 line, 1,234 lines."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(value: object) -> str:
    """A value as it is written on the command line."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
