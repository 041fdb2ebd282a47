"""The two invented vocabularies of the embedded corpus, and which source word becomes which target words.

Source words end in a vowel that shows the part of speech, target words in a consonant that shows it, so that a reader
sees the structure of a sentence in either language:

    nouns -a / -o -> -k     adjectives -i / -u -> -r     verbs -e -> -n     adverbs -ai -> -x

Nouns and adjectives come in two classes, which their last vowel shows (-a and -i are class 0, -o and -u class 1).
The closed classes (determiners, prepositions, ...) are words of two letters.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

SOURCE_CONSONANTS = "blmnrstvd"
TARGET_CONSONANTS = "gfhkzwjp"
VOWELS = "aeiou"

CLOSED = {
    "determiner": 4,
    "auxiliary": 3,
    "genitive": 1,
    "preposition": 5,
    "subject_relative": 1,
    "object_relative": 1,
    "complementizer": 1,
    "subordinator": 3,
    "conjunction": 2,
}
# Shares of the open vocabulary; whatever rounding leaves over goes to the nouns.
OPEN = {"adjective": 0.18, "transitive": 0.16, "intransitive": 0.10, "speech": 0.06, "adverb": 0.08, "noun": 0.42}
ENDINGS = {  # (source endings by word class, target ending)
    "noun": (("a", "o"), "k"),
    "adjective": (("i", "u"), "r"),
    "transitive": (("e",), "n"),
    "intransitive": (("e",), "n"),
    "speech": (("e",), "n"),
    "adverb": (("ai",), "x"),
}
AMBIGUOUS = ("noun", "adjective", "transitive", "intransitive", "speech")
SMALLEST = sum(CLOSED.values()) + 1 + 2 * len(OPEN)  # a particle, and two words in every open class


@dataclass(frozen=True, slots=True)
class Word:
    """A dictionary entry: `source` (a word, or verb and particle) becomes `translations[class of its trigger]`.

    kind: "noun", "transitive", ...; word_class: 0 or 1, what a noun or adjective is as the trigger of another word.
    """

    kind: str
    source: tuple[str, ...]
    translations: tuple[tuple[str, ...], tuple[str, ...]]
    word_class: int

    @property
    def ambiguous(self) -> bool:
        """Whether the translation depends on another word of the sentence."""
        return self.translations[0] != self.translations[1]


def draw(rng: random.Random, items: Sequence[Item]) -> Item:
    """One of `items`, by `random()` alone, which Python guarantees to stay the same in every version."""
    return items[int(rng.random() * len(items))]


class _Inventor:
    """Invents pronounceable words of one language, no word twice."""

    def __init__(self, rng: random.Random, consonants: str) -> None:
        self.rng = rng
        self.consonants = consonants
        self.taken: set[str] = set()

    def word(self, pattern: str, ending: str = "") -> str:
        """A word with a pattern of C(onsonants) and V(owels), and one more syllable when short words run out."""
        for attempt in range(1, 10_000):
            letters = (draw(self.rng, self.consonants if letter == "C" else VOWELS) for letter in pattern)
            word = "".join(letters) + ending
            if word not in self.taken:
                self.taken.add(word)
                return word
            if attempt % 30 == 0:
                pattern = pattern[:2] + pattern
        raise AssertionError("every pattern is full")


def _some(rng: random.Random, share: float, items: Sequence[Item]) -> set[Item]:
    """A share of the items, drawn at random; at least one, unless the share is 0."""
    count = max(1, round(share * len(items))) if share > 0 else 0
    return set(sorted(items, key=lambda _: rng.random())[:count])


def _sizes(open_words: int) -> dict[str, int]:
    sizes = {kind: max(2, int(share * open_words)) for kind, share in OPEN.items() if kind != "noun"}
    sizes["noun"] = open_words - sum(sizes.values())
    return sizes


def invent(*, seed: int, vocabulary_size: int, fertility: float, ambiguity: float) -> dict[str, list[Word]]:
    """The dictionary: the words of every class, `vocabulary_size` source word types in all.

    `fertility` is the share of the nouns that become two target words, and of the transitive verbs that are two source
    words (verb and particle) for one target word. `ambiguity` is the share of the nouns, adjectives and verbs that
    have two translations.
    """
    # A separate stream of random numbers for each, so that an option changes only what it is about.
    source = _Inventor(random.Random(f"{seed} source"), SOURCE_CONSONANTS)
    target = _Inventor(random.Random(f"{seed} target"), TARGET_CONSONANTS)
    fertile = random.Random(f"{seed} fertility")
    ambiguous = random.Random(f"{seed} ambiguity")

    words: dict[str, list[Word]] = {}
    for kind, size in CLOSED.items():
        pairs = [((source.word("CV"),), (target.word("VC"),)) for _ in range(size)]
        words[kind] = [Word(kind, ours, (theirs, theirs), 0) for ours, theirs in pairs]
    particle = [source.word("CV")] if fertility > 0 else []  # one for all verbs

    sizes = _sizes(vocabulary_size - sum(CLOSED.values()) - len(particle))
    two_targets = _some(fertile, fertility, [("noun", i) for i in range(sizes["noun"])])
    two_sources = _some(fertile, fertility, [("transitive", i) for i in range(sizes["transitive"])])
    two_meanings = _some(ambiguous, ambiguity, [(kind, i) for kind in AMBIGUOUS for i in range(sizes[kind])])
    for kind, size in sizes.items():
        source_endings, target_ending = ENDINGS[kind]
        words[kind] = []
        for i in range(size):
            word_class = i % len(source_endings)
            ours = [source.word("CVC", source_endings[word_class])]
            if (kind, i) in two_sources:
                ours += particle
            width = 2 if (kind, i) in two_targets else 1
            first, second = (tuple(target.word("CVCV", target_ending) for _ in range(width)) for _ in range(2))
            if (kind, i) not in two_meanings:
                second = first
            words[kind].append(Word(kind, tuple(ours), (first, second), word_class))
    return words
