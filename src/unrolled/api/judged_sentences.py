"""What a trained run says about a sentence: its translations, and how likely it is."""

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from unrolled.alignment.links import Links
from unrolled.api.pair_attention import PairAttention
from unrolled.errors import UserError
from unrolled.inference.scored_pieces import Pieces


@dataclass(frozen=True)
class TranslatedSentence:
    """A hypothesis of the search.

    source: the sentence as the model read it. log_probability: natural, of all pieces and, if it is ``finished``, of
    </s>. score: what search ranks by, the log-probability normalised by length. ids: of the pieces. attention: of the
    model to the source while it wrote them, None if it was not asked for, or the model has none.
    """

    source: str
    text: str
    log_probability: float
    score: float
    finished: bool
    pieces: list[str]
    ids: list[int] = field(default_factory=list, repr=False)
    attention: PairAttention | None = field(default=None, repr=False)

    @property
    def alignment(self) -> Links:
        """{(i, j)}: target word j attends most to source word i, from 0; empty without attention."""
        return set() if self.attention is None else self.attention.alignment


@dataclass(frozen=True)
class ScoredSentence:
    """How likely a sentence is, given the source if it has one.

    log_probability: natural, of all its pieces and </s>. pieces: each with its own, </s> last.
    """

    text: str
    log_probability: float
    pieces: Pieces = field(repr=False)

    @property
    def perplexity(self) -> float:
        """exp(- log-probability / number of pieces with </s>)."""
        try:
            return math.exp(-self.log_probability / len(self.pieces))
        except OverflowError:
            return math.inf


def scored_sentence(text: str, pieces: Pieces) -> ScoredSentence:
    """``text`` with the sum of its pieces."""
    return ScoredSentence(text, sum(log_p for _, log_p in pieces), pieces)


def texts(sentences: Any, name: str = "sentences") -> list[str]:
    """The sentences as a list: of one, if ``sentences`` is text. UserError: anything that is no text."""
    if isinstance(sentences, str):
        sentences = [sentences]
    if not isinstance(sentences, Iterable):
        raise UserError(f"{name}={sentences!r:.40}: give text, or a list of texts")
    check_ordered(name, sentences)
    lines = list(sentences)
    for number, line in enumerate(lines):
        if not isinstance(line, str):
            raise UserError(f"{name}[{number}]={line!r:.40}: give text")
        try:
            line.encode()
        except UnicodeEncodeError as problem:
            half = line[problem.start]
            raise UserError(f"{name}[{number}]={line!r:.40}: {half!r} is half a character, not text") from problem
    return lines


def check_ordered(name: str, items: Any) -> None:
    """UserError: a table of pandas', whose items are the names of its columns; a set or dictionary; no items at all."""
    if getattr(items, "shape", None) == ():
        raise UserError(f"{name} is an array without dimensions: give a list, or its only item, {name}.item()")
    if hasattr(items, "columns"):
        raise UserError(f"{name} is a table: give one column of it, or its rows, {name}.values.tolist()")
    if isinstance(items, Mapping | Set):
        raise UserError(f"{name} is a {type(items).__name__}, without an order: give a list")
