"""The words of the demo corpus, as its text files list them: nouns, adjectives, verbs and adverbs of two languages.

The first line of each file says what its columns are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
GENDERS = {"der": "m", "die": "f", "das": "n"}

Link = tuple[int, int]
"""The position of an English word and of a German word, from 0."""


@dataclass(frozen=True)
class Noun:
    """A noun in its forms. oblique: the German singular of accusative and dative; genitive: of the genitive."""

    kind: str
    english: tuple[str, str]  # singular, plural
    german: tuple[str, str]
    gender: str  # m, f, n
    genitive: str
    oblique: str


@dataclass(frozen=True)
class Adjective:
    """An adjective; ``german`` is without the ending of gender and case."""

    kinds: frozenset[str]
    english: str
    german: str


@dataclass(frozen=True)
class Verb:
    """A verb in its forms.

    frame: what it governs: "transitive", "person", "gift", "reading", "intransitive", "saying" or "trying".
    kinds: of the nouns that may be its object. english: base, third person, past, participle. particle: the English
    word after each of them, or "". prefix: the separable German one, or "".
    """

    frame: str
    kinds: frozenset[str]
    english: tuple[str, str, str, str]
    particle: str
    prefix: str
    infinitive: str  # without the prefix, like the three that follow
    present: str  # third person singular
    past: str  # the same
    participle: str
    perfect: str  # haben or sein
    case: str  # of a person that is its object: acc or dat


@dataclass(frozen=True)
class Adverb:
    """A phrase of time or manner in both languages, and the links between their words."""

    kind: str
    english: tuple[str, ...]
    german: tuple[str, ...]
    links: tuple[Link, ...]


@cache
def nouns() -> tuple[Noun, ...]:
    """Those of nouns.txt."""
    return tuple(_noun(*columns) for columns in _rows("nouns.txt"))


@cache
def adjectives() -> tuple[Adjective, ...]:
    """Those of adjectives.txt."""
    rows = _rows("adjectives.txt")
    return tuple(Adjective(frozenset(kinds.split()), english, german) for kinds, english, german in rows)


@cache
def verbs() -> tuple[Verb, ...]:
    """Those of verbs.txt."""
    return tuple(_verb(*columns) for columns in _rows("verbs.txt"))


@cache
def adverbs() -> tuple[Adverb, ...]:
    """Those of adverbs.txt."""
    return tuple(_adverb(*columns) for columns in _rows("adverbs.txt"))


def _rows(name: str) -> Iterator[list[str]]:
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield [column.strip() for column in line.split("|")]


def _noun(kind: str, english: str, german: str, irregular: str = "") -> Noun:
    one, many = english.split()
    (article, singular), (_, plural) = (form.split() for form in german.split(","))
    gender = GENDERS[article]
    genitive, oblique = [*irregular.split(), "", ""][:2]
    regular = singular if gender == "f" else singular + "s"
    return Noun(kind, (one, many), (singular, plural), gender, genitive or regular, oblique or singular)


def _verb(frame: str, english: str, german: str, governs: str = "") -> Verb:
    name, *kinds = frame.split()
    forms, _, particle = (field.strip() for field in english.partition("+"))
    base, third, past, participle = forms.split()
    infinitive, present, german_past, german_participle = german.split()
    prefix, _, stem = infinitive.rpartition("-")
    return Verb(
        frame=name,
        kinds=frozenset(kinds),
        english=(base, third, past, participle),
        particle=particle,
        prefix=prefix,
        infinitive=stem,
        present=present,
        past=german_past,
        participle=german_participle,
        perfect="sein" if "sein" in governs.split() else "haben",
        case="dat" if "dative" in governs.split() else "acc",
    )


def _adverb(kind: str, english: str, german: str, links: str = "") -> Adverb:
    source, target = tuple(english.split()), tuple(german.split())
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    return Adverb(kind, source, target, tuple((i, j) for i, j in pairs or zip(*[range(len(source))] * 2, strict=True)))
