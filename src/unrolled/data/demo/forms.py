"""How the words of the demo corpus change: English number and person, German gender, case, number and person.

A form is a list of (word, key) pairs. Words of a slot whose keys agree are linked across the two languages; a word with
the key "" is linked to none.
"""

from dataclasses import dataclass

from unrolled.data.demo.lexicon import Adjective, Noun, Verb

Form = list[tuple[str, str]]

CASES = ("nom", "acc", "dat", "gen")
# Endings and articles by gender (m, f, n) and in the plural (p), for nominative, accusative, dative, genitive.
THE = {"m": "der den dem des", "f": "die die der der", "n": "das das dem des", "p": "die die den der"}
LIKE_THE = {"m": "er en em es", "f": "e e er er", "n": "es es em es", "p": "e e en er"}  # dieser, jeder, welcher
LIKE_A = {"m": "- en em es", "f": "e e er er", "n": "- - em es", "p": "e e en er"}  # ein, unser
# Adjectives after such articles, and without any.
WEAK = {"m": "e en en en", "f": "e e en en", "n": "e e en en", "p": "en en en en"}
MIXED = {"m": "er en en en", "f": "e e en en", "n": "es es en en", "p": "en en en en"}
STRONG = {"m": "er en em en", "f": "e e er er", "n": "es es em en", "p": "e e en er"}
RELATIVE = {"m": "der den dem dessen", "f": "die die der deren", "n": "das das dem dessen", "p": "die die denen deren"}
RELATIVE_CASES = {"who": "nom", "whom": "acc", "towhom": "dat", "whose": "gen"}

Endings = dict[str, str]
# English singular, plural; German stem; its endings; endings of the adjective
DETERMINERS: dict[str, tuple[str, str, str, Endings, Endings]] = {
    "the": ("the", "the", "", THE, WEAK),
    "a": ("a", "", "ein", LIKE_A, MIXED),
    "this": ("this", "these", "dies", LIKE_THE, WEAK),
    "our": ("our", "our", "unser", LIKE_A, MIXED),
    "every": ("every", "", "jed", LIKE_THE, WEAK),  # in the singular only
}
PRONOUNS = {"he": ("er", False), "she": ("sie", False), "we": ("wir", True), "they": ("sie", True)}

# English singular and plural; German singular and plural. "does" and "did" have no German counterpart.
AUXILIARIES = {
    "is": ("is", "are", "ist", "sind"),
    "was": ("was", "were", "war", "waren"),
    "ispassive": ("", "", "wird", "werden"),
    "waspassive": ("", "", "wurde", "wurden"),
    "does": ("does", "do", "", ""),
    "did": ("did", "did", "", ""),
    "asks": ("asks", "ask", "fragt", "fragen"),
    "will": ("will", "will", "wird", "werden"),
    "can": ("can", "can", "kann", "können"),
    "must": ("must", "must", "muss", "müssen"),
    "should": ("should", "should", "soll", "sollen"),
    "may": ("may", "may", "darf", "dürfen"),
    "wants": ("wants to", "want to", "will", "wollen"),
    "could": ("could", "could", "konnte", "konnten"),
    "had to": ("had to", "had to", "musste", "mussten"),
    "wanted": ("wanted to", "wanted to", "wollte", "wollten"),
}
MODAL = ("can", "must", "should", "may", "wants")
MODAL_PAST = ("could", "had to", "wanted")
PERFECT = {  # of haben and sein: present and past, singular and plural
    ("haben", "has"): ("hat", "haben"),
    ("haben", "had"): ("hatte", "hatten"),
    ("sein", "has"): ("ist", "sind"),
    ("sein", "had"): ("war", "waren"),
}


@dataclass(frozen=True)
class NounPhrase:
    """Determiner, perhaps an adjective, and a noun; or a pronoun alone."""

    noun: Noun | None = None
    adjective: Adjective | None = None
    determiner: str = "the"
    plural: bool = False
    pronoun: str = ""

    def english(self, key: str) -> Form:
        """key: "" for all of it, "bare" without the determiner, "s" for the owner, as in "the king's"."""
        if self.pronoun:
            return [(self.pronoun, "noun")]
        assert self.noun is not None
        noun = self.noun.english[self.plural]
        if key == "s":
            noun += "'" if noun.endswith("s") else "'s"
        words = [(noun, "noun")]
        if self.adjective:
            words.insert(0, (self.adjective.english, "adjective"))
        one, many, *_ = DETERMINERS[self.determiner]
        article = many if self.plural else one
        if article == "a" and words[0][0][0] in "aeiou":
            article = "an"
        return [(article, "determiner"), *words] if article and key != "bare" else words

    def german(self, key: str) -> Form:
        """key: a case; "bare": the noun alone; "which"; "who", "whom", "towhom", "whose": its relative pronoun."""
        if self.pronoun:
            assert key == "nom"
            return [(PRONOUNS[self.pronoun][0], "noun")]
        assert self.noun is not None
        gender = "p" if self.plural else self.noun.gender
        if key in RELATIVE_CASES:
            return [(_cell(RELATIVE, gender, RELATIVE_CASES[key]), "")]
        if key == "which":
            return [("welch" + _cell(LIKE_THE, gender, "nom"), "")]
        if key == "bare":
            return [(self._german_noun("nom"), "noun")]
        _, _, stem, endings, of_adjective = DETERMINERS[self.determiner]
        article = "" if self.plural and self.determiner == "a" else stem + _cell(endings, gender, key)
        words = [(self._german_noun(key), "noun")]
        if self.adjective:
            ending = _cell(of_adjective if article else STRONG, gender, key)
            words.insert(0, (self.adjective.german.removesuffix("e") + ending, "adjective"))
        return [(article, "determiner"), *words] if article else words

    def _german_noun(self, case: str) -> str:
        assert self.noun is not None
        singular, plural = self.noun.german
        if not self.plural:
            return {"nom": singular, "gen": self.noun.genitive}.get(case, self.noun.oblique)
        return plural + "n" if case == "dat" and plural[-1] not in "ns" else plural


def english_verb(verb: Verb, key: str, *, plural: bool) -> Form:
    """key: now, past, base, part (participle), to (infinitive with it), has or had (of the perfect)."""
    if key in ("has", "had"):
        return [("have" if key == "has" and plural else key, "auxiliary")]
    base, third, past, participle = verb.english
    word = {"now": base if plural else third, "past": past, "base": base, "to": base, "part": participle}[key]
    words = [(word, "verb"), *([(verb.particle, "verb")] if verb.particle else [])]
    return [("to", "to"), *words] if key == "to" else words


def german_verb(verb: Verb, key: str, *, plural: bool) -> Form:
    """key: now, past (without the prefix), prefix, end, pastend (the clause's last word), inf, part, zu, has, had."""
    if key in ("has", "had"):
        return [(PERFECT[verb.perfect, key][plural], "auxiliary")]
    if key == "prefix":
        return [(verb.prefix, "verb")] if verb.prefix else []
    if key == "zu":
        if verb.prefix:
            return [(f"{verb.prefix}zu{verb.infinitive}", "to verb")]
        return [("zu", "to"), (verb.infinitive, "verb")]
    many_past = verb.past + ("n" if verb.past.endswith("e") else "en")
    present, past = (verb.infinitive, many_past) if plural else (verb.present, verb.past)
    whole = {"end": present, "pastend": past, "inf": verb.infinitive, "part": verb.participle}
    return [({"now": present, "past": past}[key] if key not in whole else verb.prefix + whole[key], "verb")]


def _cell(table: dict[str, str], gender: str, case: str) -> str:
    return table[gender].split()[CASES.index(case)].removeprefix("-")
