"""The embedded corpus: pairs of sentences that differ in word order by rules, with their gold word alignment.

Words come from `words`, source sentences from `tree`. The target has the same tree, with its words in another order, by
the rules of ORDERS below. docs/reorder.md shows examples.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from unrolled.data.generated import Pair, check_options, distinct_pairs
from unrolled.data.reorder.tree import SHORTEST, Phrase, grow
from unrolled.data.reorder.words import SMALLEST, Word, invent
from unrolled.errors import Numbers, UserError, check_choice

Order = dict[str, tuple[str, ...]]

SOURCE_ORDER: Order = {
    "coordinate": ("conjunction", "clause"),
    "clause": ("subject", "auxiliary", "adverb", "verb", "object", "place", "subordinate"),
    "noun_phrase": ("determiner", "adjective", "noun", "genitive", "relative"),
    "adposition": ("adposition", "noun_phrase"),
    "relative": ("pronoun", "clause"),
    "subordinate": ("subordinator", "clause"),
}
# Modifiers of one word follow it: adjectives after their noun, the auxiliary after its verb.
LOCAL: Order = SOURCE_ORDER | {
    "clause": ("subject", "adverb", "verb", "auxiliary", "object", "place", "subordinate"),
    "noun_phrase": ("determiner", "noun", "adjective", "genitive", "relative"),
}
# And heads follow their phrases: verbs end their clause, postpositions, genitives before their noun.
HEAD_FINAL: Order = LOCAL | {
    "clause": ("subject", "object", "place", "adverb", "verb", "auxiliary", "subordinate"),
    "noun_phrase": ("genitive", "determiner", "noun", "adjective", "relative"),
    "adposition": ("noun_phrase", "adposition"),
}
# And clauses within clauses move as blocks: relative clauses before their noun, subordinate ones before their matrix.
NESTED: Order = HEAD_FINAL | {
    "clause": ("subordinate", "subject", "object", "place", "adverb", "verb", "auxiliary"),
    "noun_phrase": ("relative", "genitive", "determiner", "noun", "adjective"),
    "relative": ("clause", "pronoun"),
    "subordinate": ("clause", "subordinator"),
}
ORDERS = {"none": SOURCE_ORDER, "local": LOCAL, "head_final": HEAD_FINAL, "nested": NESTED}

PAIRS = Numbers(least=1, most=10**8, whole=True)
RANGES = {
    "pairs": PAIRS,
    "validation_pairs": PAIRS,
    "test_pairs": PAIRS,
    "seed": Numbers(least=0, most=2**63, whole=True),
    "depth": Numbers(least=0, most=50, whole=True),  # the tree is read by recursion
    "min_length": Numbers(least=SHORTEST, most=10_000, whole=True),
    "max_length": Numbers(least=SHORTEST, most=10_000, whole=True),
    "test_depth": Numbers(least=0, most=50, whole=True, also=(None,)),
    "test_min_length": Numbers(least=SHORTEST, most=10_000, whole=True, also=(None,)),
    "test_max_length": Numbers(least=SHORTEST, most=10_000, whole=True, also=(None,)),
    "vocabulary_size": Numbers(least=SMALLEST, most=10**6, whole=True),
    "fertility": Numbers(least=0, most=1),
    "ambiguity": Numbers(least=0, most=1),
}


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """The options of the corpus; a mistake raises `UserError` with one line.

    pairs, validation_pairs, test_pairs: the sizes of the splits.
    seed: of the words and the sentences.
    depth: how deeply clauses may be nested (0: neither relative nor subordinate clauses).
    min_length, max_length: number of source words, uniformly distributed between the two.
    reordering: "none", "local", "head_final" or "nested", each with the rules of those before it.
    vocabulary_size: number of source word types.
    fertility: share of the nouns that become two words, and of the transitive verbs that are two words becoming one.
    ambiguity: share of nouns, adjectives and verbs whose translation depends on another word.
    test_depth, test_min_length, test_max_length: those of the test set, where they are not those of training and
    validation (None). So a model can be tested on longer or deeper sentences than it has seen.

    The source depends neither on `reordering` nor on `ambiguity`, and validation and test set do not depend on `pairs`.
    """

    pairs: int = 20_000
    validation_pairs: int = 500
    test_pairs: int = 500
    seed: int = 1
    depth: int = 2
    min_length: int = 5
    max_length: int = 20
    reordering: str = "nested"
    vocabulary_size: int = 250
    fertility: float = 0.1
    ambiguity: float = 0.1
    test_depth: int | None = None
    test_min_length: int | None = None
    test_max_length: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        check_options("data.grammar", self, RANGES, [("min_length", "max_length")])
        least, most, _ = self.lengths("test")
        if most < least:
            what = f"data.grammar.test_max_length={most} is below data.grammar.test_min_length={least}"
            raise UserError(f"{what}: raise it")
        check_choice("data.grammar.reordering", self.reordering, ORDERS)

    def lengths(self, split: str) -> tuple[int, int, int]:
        """The least and the greatest number of source words in a split, and how deep its clauses may be."""
        of_training = self.min_length, self.max_length, self.depth
        if split != "test":
            return of_training
        of_test = self.test_min_length, self.test_max_length, self.test_depth
        least, most, depth = (one if other is None else other for one, other in zip(of_training, of_test, strict=True))
        return least, most, depth


def _read_source(phrase: Phrase, source: list[str]) -> None:
    """Append the source words of a phrase, and note their positions in the tree."""
    for role in SOURCE_ORDER[phrase.kind]:
        child = phrase.parts.get(role)
        if isinstance(child, Phrase):
            _read_source(child, source)
        elif child is not None:
            phrase.at[role] = len(source)
            source.extend(child.source)


def _trigger(phrase: Phrase, role: str) -> int:
    """The class of the word on which the translation of an ambiguous word depends.

    A verb depends on its object, or without one on its subject; an adjective on its noun; a noun on its adjective, or
    without one it has its first translation.
    """
    if role == "verb":
        assert phrase.trigger is not None
        return phrase.trigger.word("noun").word_class
    if role == "adjective":
        return phrase.word("noun").word_class
    if role == "noun" and "adjective" in phrase.parts:
        return phrase.word("adjective").word_class
    return 0


def _read_target(phrase: Phrase, order: Order, target: list[str], links: list[tuple[int, int]]) -> None:
    """Append the target words of a phrase and their links to the source."""
    for role in order[phrase.kind]:
        child = phrase.parts.get(role)
        if isinstance(child, Phrase):
            _read_target(child, order, target, links)
        elif child is not None:
            words = child.translations[_trigger(phrase, role)]
            i, j = phrase.at[role], len(target)
            links.extend((i + m, j + n) for m in range(len(child.source)) for n in range(len(words)))
            target.extend(words)


def translate(clauses: list[Phrase], order: Order) -> Pair:
    """The source words of a tree, its target words in an order, and their links. Coordinated clauses stay in order."""
    pair = Pair([], [], [])
    for clause in clauses:
        _read_source(clause, pair.source)
    for clause in clauses:
        _read_target(clause, order, pair.target, pair.links)
    pair.links.sort()
    return pair


MEND = {
    "test": "raise data.grammar.test_max_length or data.grammar.vocabulary_size, or lower data.grammar.test_pairs",
    "val": "raise data.grammar.max_length or data.grammar.vocabulary_size, or lower data.grammar.validation_pairs",
    "train": "raise data.grammar.max_length or data.grammar.vocabulary_size, or lower data.grammar.pairs",
}


def pairs_of_splits(grammar: Grammar) -> Iterator[tuple[str, Pair]]:
    """The pairs of all splits with the names of their splits: test, then validation, then training set.

    No source sentence occurs twice, in a split or across splits. UserError: the grammar is too small for that many.
    """
    words: dict[str, list[Word]] = invent(
        seed=grammar.seed,
        vocabulary_size=grammar.vocabulary_size,
        fertility=grammar.fertility,
        ambiguity=grammar.ambiguity,
    )
    rng = random.Random(f"{grammar.seed} sentences")

    def draw(split: str) -> Pair | None:
        least, most, depth = grammar.lengths(split)
        length = least + int(rng.random() * (most - least + 1))
        pair = translate(grow(words, rng, length=length, depth=depth), ORDERS[grammar.reordering])
        return pair if len(pair.source) >= least else None

    sizes = {"test": grammar.test_pairs, "val": grammar.validation_pairs, "train": grammar.pairs}
    return distinct_pairs("reorder", sizes, draw, mend=MEND)
