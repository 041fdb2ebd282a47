"""Templates of the demo corpus, and the sentence pairs that they become.

A template is "English | German". A word in braces is a slot: {S}, {S.nom}, {V.past@P}, {S.who:1}. Its letter says what
is drawn for it. After the dot comes the form (`forms`), after @ the subject it agrees with (else S). A number after a
colon, as after a plain word, links it to the words of the other side with that number.

    S P Q S2   persons                         V V2       a verb with an object
    X X2       objects of V (or G, R) and V2   U U2       a verb with a person as its object
    A A2       animals                         I I2       a verb without an object
    L          a place                         G, R       giving, reading to someone
    JS JX ...  an adjective for that slot      C C2, Z    saying that ..., trying to ...
    M          manner                          T, TP, TF  any time, past, future
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from unrolled.data.demo.forms import (
    AUXILIARIES,
    DETERMINERS,
    MODAL,
    MODAL_PAST,
    PRONOUNS,
    Form,
    NounPhrase,
    english_verb,
    german_verb,
)
from unrolled.data.demo.lexicon import FOLDER, Adjective, Adverb, Verb, adjectives, adverbs, nouns, verbs
from unrolled.data.generated import Pair

SLOT = re.compile(r"\{(?P<name>[\w ]+)(?:\.(?P<key>\w+))?(?:@(?P<subject>\w+))?(?::(?P<link>\d))?\}")
WORD = re.compile(r"(?P<word>[^\s{}|:]+)(?::(?P<link>\d))?")
FRAMES = {
    "V": "transitive",
    "U": "person",
    "I": "intransitive",
    "G": "gift",
    "R": "reading",
    "C": "saying",
    "Z": "trying",
}
KINDS = {"S": "person", "P": "person", "Q": "person", "A": "animal", "L": "place"}
TIMES = {"T": "time", "TP": "past", "TF": "future", "M": "manner"}
CONTRACTED = {"in dem": "im", "in das": "ins", "an dem": "am", "von dem": "vom", "zu dem": "zum", "zu der": "zur"}
UNLINKED = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a template, or a slot; ``link`` is the number that it shares with words of the other side, or ""."""

    name: str
    key: str = ""
    subject: str = "S"
    link: str = ""
    is_slot: bool = True


@dataclass(frozen=True)
class Template:
    """Both sides of a line of templates.txt, and the kind of reordering that its heading names."""

    english: tuple[Token, ...]
    german: tuple[Token, ...]
    kind: str


@cache
def templates() -> tuple[Template, ...]:
    """Those of templates.txt."""
    templates, kind = [], ""
    for line in (FOLDER / "templates.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            kind = line.removeprefix("## ")
        elif line and not line.startswith("#"):
            english, german = line.split("|")
            templates.append(Template(_tokens(english), _tokens(german), kind))
    return tuple(templates)


def _tokens(side: str) -> tuple[Token, ...]:
    tokens = []
    for text in re.findall(r"\{[^}]*\}|\S+", side):
        slot, word = SLOT.fullmatch(text), WORD.fullmatch(text)
        if slot:
            tokens.append(Token(slot["name"], slot["key"] or "", slot["subject"] or "S", slot["link"] or ""))
        elif word:
            link = word["link"] or (word["word"] if word["word"] in ".?" else UNLINKED)
            tokens.append(Token(word["word"], link=link, is_slot=False))
        else:
            raise ValueError(f"{text!r} is neither a slot nor a word")
    return tuple(tokens)


def fill(template: Template, rng: random.Random) -> Pair:
    """A sentence pair: words drawn for the slots, in the forms that the template asks for."""
    drawn = _Words(template, rng)
    source = [word for token in template.english for word in drawn.english(token)]
    target = [word for token in template.german for word in drawn.german(token)]
    links = [
        (i, j) for i, (_, one) in enumerate(source) for j, (_, other) in enumerate(target) if _are_linked(one, other)
    ]
    words, number = _contracted(target)
    links = sorted({(i, number[j]) for i, j in links})
    return Pair(_with_capital([word for word, _ in source]), _with_capital(words), links)


def _are_linked(one: str, other: str) -> bool:
    """A label is a slot's name and the keys of a word, as in "V to verb", or a number, or ""."""
    name, _, keys = one.partition(" ")
    other_name, _, other_keys = other.partition(" ")
    return name == other_name != UNLINKED and (keys == other_keys or bool({*keys.split()} & {*other_keys.split()}))


def _contracted(form: Form) -> tuple[list[str], list[int]]:
    """in dem -> im: two German words become one; and the new position of each word."""
    whole: list[str] = []
    number = []
    for word, label in form:
        both = CONTRACTED.get(f"{whole[-1]} {word}") if whole else None
        if both and label.endswith(" determiner"):  # not: das Haus, in dem ...
            whole[-1] = both
        else:
            whole.append(word)
        number.append(len(whole) - 1)
    return whole, number


def _with_capital(words: list[str]) -> list[str]:
    return [words[0][0].upper() + words[0][1:], *words[1:]]


class _Words:
    """What is drawn for the slots of a template."""

    def __init__(self, template: Template, rng: random.Random) -> None:
        self._template, self._rng = template, rng
        self._both = (*template.english, *template.german)
        self._names = {token.name for token in self._both if token.is_slot}
        self._phrases: dict[str, NounPhrase] = {}
        self._adverbs: dict[str, Adverb] = {}
        self._adjectives: dict[str, Adjective] = {}
        self._is_negated = any(token.name == "nicht" for token in template.german)
        self._modal = {"modal": rng.choice(MODAL), "modalpast": rng.choice(MODAL_PAST)}
        names = sorted(self._names)  # in an order that is the same everywhere
        for name in names:
            if name in TIMES:
                self._adverbs[name] = rng.choice([adverb for adverb in adverbs() if adverb.kind == TIMES[name]])
        objects = [name for name in names if name.rstrip("2") == "X"]
        while True:
            self._verbs = {name: self._verb(name) for name in names if name.rstrip("2") in FRAMES}
            if all(self._kinds(name) for name in objects):
                break
        used: set[str] = set()
        for name in names:
            if name.rstrip("2") in {*KINDS, "X"}:
                self._phrases[name] = self._phrase(name, used)
        for name in names:
            if name[0] == "J":
                kind = self._kind_of(name[1:])
                self._adjectives[name] = rng.choice([word for word in adjectives() if kind in word.kinds])

    def _verb(self, name: str) -> Verb:
        needed = {"place"} if name[0] == "I" and "L" in self._names else set()  # something that one does at a place
        frame = FRAMES[name.rstrip("2")]
        return self._rng.choice([verb for verb in verbs() if verb.frame == frame and needed <= verb.kinds])

    def _kinds(self, name: str) -> frozenset[str]:
        """The kinds of nouns for X or X2: those its verb allows, and V2 too if that has no object of its own."""
        governing = [self._verbs[verb + name[1:]] for verb in "VGR" if verb + name[1:] in self._verbs]
        if name == "X" and "V2" in self._verbs and "X2" not in self._names:
            governing.append(self._verbs["V2"])
        return frozenset.intersection(*(verb.kinds for verb in governing))

    def _kind_of(self, name: str) -> str:
        noun = self._phrases[name].noun
        return noun.kind if noun else "person"

    def _phrase(self, name: str, used: set[str]) -> NounPhrase:
        """A noun phrase for a slot; no two of them have the same noun."""
        keys = {token.key for token in self._template.german if token.name == name}
        bare = any(token.name == name and token.key == "bare" for token in self._both)
        owned = any(
            token.name == name and after.key == "gen"
            for token, after in zip(self._template.german, self._template.german[1:], strict=False)
        )
        if name == "S" and keys == {"nom"} and not owned and not bare and self._rng.random() < 0.15:
            return NounPhrase(pronoun=self._rng.choice(list(PRONOUNS)))
        kinds = self._kinds(name) if name[0] == "X" else frozenset([KINDS[name[0]]])
        noun = self._rng.choice([noun for noun in nouns() if noun.kind in kinds and noun.english[0] not in used])
        used.add(noun.english[0])
        determiner = "the" if bare else self._rng.choices(list(DETERMINERS), (10, 5, 2, 2, 1))[0]
        plural = not bare and determiner != "every" and self._rng.random() < 0.25
        if determiner == "a" and ((plural and "gen" in keys) or (name != "S" and self._is_negated)):
            determiner = "the"  # German has no genitive without an article, and a word of its own for "not a"
        adjective = None
        if "bare" not in keys and self._rng.random() < 0.3:
            adjective = self._rng.choice([adjective for adjective in adjectives() if noun.kind in adjective.kinds])
        return NounPhrase(noun, adjective, determiner, plural)

    def _plural(self, subject: str) -> bool:
        if subject in ("one", "both") or subject not in self._phrases:
            return subject == "both"
        phrase = self._phrases[subject]
        return PRONOUNS[phrase.pronoun][1] if phrase.pronoun else phrase.plural

    def english(self, token: Token) -> Form:
        """The words of a token on the English side, each with its label."""
        return self._form(token, 0, lambda phrase: phrase.english(token.key), english_verb)

    def german(self, token: Token) -> Form:
        """The same on the German side."""

        def of_phrase(phrase: NounPhrase) -> Form:
            governing = self._verbs.get(token.key)  # {P.U}: in the case that the verb governs
            return phrase.german(governing.case if governing else token.key)

        return self._form(token, 1, of_phrase, german_verb)

    def _form(
        self, token: Token, side: int, of_phrase: Callable[[NounPhrase], Form], of_verb: Callable[..., Form]
    ) -> Form:
        name = token.name
        if not token.is_slot:
            return [(name, token.link)]
        if name in self._phrases:
            return self._labelled(token, of_phrase(self._phrases[name]))
        if name in self._verbs:
            return self._labelled(token, of_verb(self._verbs[name], token.key, plural=self._plural(token.subject)))
        if name in self._adjectives:
            adjective = self._adjectives[name]
            return [((adjective.english, adjective.german)[side], name)]
        if name in self._adverbs:
            return self._adverb(name, side)
        auxiliary = AUXILIARIES[self._modal.get(name, name)][2 * side + self._plural(token.subject)]
        label = name.removesuffix("passive") + token.subject
        return [(word, token.link or label) for word in auxiliary.split()]

    @staticmethod
    def _labelled(token: Token, form: Form) -> Form:
        return [(word, token.link or (f"{token.name} {key}" if key else UNLINKED)) for word, key in form]

    def _adverb(self, name: str, side: int) -> Form:
        """Its words; the key of each names the links that it has."""
        adverb = self._adverbs[name]
        words = (adverb.english, adverb.german)[side]
        return [
            (word, f"{name} " + " ".join(f"{link[0]}-{link[1]}" for link in adverb.links if link[side] == position))
            for position, word in enumerate(words)
        ]
