"""Growing the tree of a source sentence to a desired number of words.

    sentence     -> clause (conjunction clause)*
    clause       -> noun_phrase [auxiliary] [adverb] verb [noun_phrase] [adposition] [subordinate]
    noun_phrase  -> determiner [adjective] noun [genitive | relative]
    genitive     -> "of" noun_phrase
    adposition   -> preposition noun_phrase
    relative     -> "which" clause without its subject | "whom" clause without its object
    subordinate  -> "that" clause, after a verb of speech | subordinator clause

The source has only one reading, so that the target is a function of it. Whatever would create a second reading is
excluded: conjunctions join clauses only at the top; a relative clause has no subordinate clause; a noun has a genitive
or a relative clause, not both; and an adposition belongs to the innermost clause that is still open, so a clause whose
object ends in a relative clause has none. (Genitives and adpositions have different words.)
"""

import random
from collections.abc import Callable, Mapping, Sequence

from unrolled.data.reorder.words import Word, draw

SHORTEST = 3  # determiner noun verb


class Phrase:
    """A node: its kind (see the rules above), its parts by role, and what growing and translating need to know.

    level: number of clauses around it; edge: the clause whose object ends in this noun phrase; closed: a relative
    clause ends the object, so no adposition may follow; trigger: the noun phrase that decides what the verb means;
    at: the position in the source of each part that is a word.
    """

    __slots__ = ("at", "closed", "edge", "kind", "level", "parts", "trigger")

    def __init__(self, kind: str, level: int, **parts: "Phrase | Word") -> None:
        self.kind = kind
        self.level = level
        self.parts: dict[str, Phrase | Word] = parts
        self.edge: Phrase | None = None
        self.closed = False
        self.trigger: Phrase | None = None
        self.at: dict[str, int] = {}

    def word(self, role: str) -> Word:
        """The part with this role, which is a word."""
        word = self.parts[role]
        assert isinstance(word, Word)
        return word


class _Tree:
    """A sentence that grows.

    `buds` are the places where it can still grow: a rule to apply and the phrase to apply it to. A rule does nothing if
    its words do not fit into `room`, the number of words still missing, or if the source would become ambiguous.
    """

    def __init__(self, words: Mapping[str, Sequence[Word]], rng: random.Random, length: int, depth: int) -> None:
        self.words = words
        self.rng = rng
        self.depth = depth
        self.room = length
        self.buds: list[tuple[Callable[[Phrase], None], Phrase]] = []
        self.clauses = [self.clause(0)]

    def draw(self, kind: str) -> Word:
        word = draw(self.rng, self.words[kind])
        self.room -= len(word.source)
        return word

    def grow(self) -> None:
        while self.room and self.buds:
            i = int(self.rng.random() * len(self.buds))
            self.buds[i], self.buds[-1] = self.buds[-1], self.buds[i]
            rule, phrase = self.buds.pop()
            rule(phrase)

    # What a phrase is when it begins.

    def noun_phrase(self, level: int) -> Phrase:
        phrase = self.possessor(level)
        self.buds.append((self.genitive, phrase))
        return phrase

    def possessor(self, level: int) -> Phrase:
        """A noun phrase that grows no genitive: there are no chains of them."""
        phrase = Phrase("noun_phrase", level, determiner=self.draw("determiner"), noun=self.draw("noun"))
        self.buds.append((self.adjective, phrase))
        if level < self.depth:
            self.buds += [(self.subject_relative, phrase), (self.object_relative, phrase)]
        return phrase

    def clause(self, level: int) -> Phrase:
        subject = self.noun_phrase(level)
        clause = Phrase("clause", level, subject=subject, verb=self.draw("intransitive"))
        clause.trigger = subject
        self.verb_buds(clause)
        self.buds.append((self.object, clause))
        if level < self.depth:
            self.buds += [(self.complement, clause), (self.adverbial, clause)]
        if level == 0:
            self.buds.append((self.coordinate, clause))
        return clause

    def verb_buds(self, clause: Phrase) -> None:
        self.buds += [(self.auxiliary, clause), (self.adverb, clause), (self.adposition, clause)]

    # The rules by which it grows.

    def adjective(self, noun: Phrase) -> None:
        noun.parts["adjective"] = self.draw("adjective")

    def auxiliary(self, clause: Phrase) -> None:
        clause.parts["auxiliary"] = self.draw("auxiliary")

    def adverb(self, clause: Phrase) -> None:
        clause.parts["adverb"] = self.draw("adverb")

    def genitive(self, noun: Phrase) -> None:
        if self.room < 3 or "relative" in noun.parts:
            return
        possessor = self.possessor(noun.level)
        possessor.edge = noun.edge
        noun.parts["genitive"] = Phrase(
            "adposition", noun.level, adposition=self.draw("genitive"), noun_phrase=possessor
        )

    def object(self, clause: Phrase) -> None:
        if self.room < 3 or clause.word("verb").kind == "speech":
            return
        self.room += 1  # a transitive verb instead of the intransitive one
        clause.parts["verb"] = self.draw("transitive")
        clause.trigger = self.noun_phrase(clause.level)
        clause.trigger.edge = clause
        clause.parts["object"] = clause.trigger

    def adposition(self, clause: Phrase) -> None:
        if self.room < 3 or clause.closed:
            return
        clause.parts["place"] = Phrase(
            "adposition",
            clause.level,
            adposition=self.draw("preposition"),
            noun_phrase=self.noun_phrase(clause.level),
        )

    def can_have_relative(self, noun: Phrase) -> bool:
        if "genitive" in noun.parts or "relative" in noun.parts:
            return False
        return noun.edge is None or "place" not in noun.edge.parts

    def add_relative(self, noun: Phrase, pronoun: str, clause: Phrase) -> None:
        if noun.edge is not None:
            noun.edge.closed = True
        clause.trigger = noun
        noun.parts["relative"] = Phrase("relative", clause.level, pronoun=self.draw(pronoun), clause=clause)
        self.verb_buds(clause)

    def subject_relative(self, noun: Phrase) -> None:
        if self.room < 2 or not self.can_have_relative(noun):
            return
        clause = Phrase("clause", noun.level + 1, verb=self.draw("intransitive"))
        self.add_relative(noun, "subject_relative", clause)
        self.buds.append((self.object, clause))

    def object_relative(self, noun: Phrase) -> None:
        if self.room < 5 or not self.can_have_relative(noun):
            return
        subject = self.noun_phrase(noun.level + 1)
        clause = Phrase("clause", noun.level + 1, subject=subject, verb=self.draw("transitive"))
        self.add_relative(noun, "object_relative", clause)

    def complement(self, clause: Phrase) -> None:
        if self.room < 4 or "object" in clause.parts or "subordinate" in clause.parts:
            return
        self.room += 1  # a verb of speech instead of the intransitive one
        clause.parts["verb"] = self.draw("speech")
        self.subordinate(clause, "complementizer")

    def adverbial(self, clause: Phrase) -> None:
        if self.room < 4 or "subordinate" in clause.parts:
            return
        self.subordinate(clause, "subordinator")

    def subordinate(self, clause: Phrase, kind: str) -> None:
        level = clause.level + 1
        clause.parts["subordinate"] = Phrase(
            "subordinate", level, subordinator=self.draw(kind), clause=self.clause(level)
        )

    def coordinate(self, clause: Phrase) -> None:
        if self.room < 4:
            return
        conjunction = self.draw("conjunction")
        self.clauses.append(Phrase("coordinate", 0, conjunction=conjunction, clause=self.clause(0)))


def grow(words: Mapping[str, Sequence[Word]], rng: random.Random, *, length: int, depth: int) -> list[Phrase]:
    """A random sentence of at most `length` words, and almost always of exactly that many: its clauses in order.

    depth: how deeply clauses may be nested (0: no subordinate and no relative clauses).
    """
    tree = _Tree(words, rng, length, depth)
    tree.grow()
    return tree.clauses
