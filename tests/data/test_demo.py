"""The demo corpus: its German, its links, and the reordering that it is made to show."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import unrolled
from unrolled.data.demo.draw import DemoOptions, draw
from unrolled.data.demo.forms import NounPhrase, english_verb, german_verb
from unrolled.data.demo.lexicon import adjectives, adverbs, nouns, verbs
from unrolled.data.demo.sentence import fill, templates
from unrolled.errors import UserError

NEVER_LINKED = {",", "does", "do", "did", "to", "of", "der", "die", "das", "den", "dem", "des"}
SOME = DemoOptions(pairs=300, validation_pairs=50, test_pairs=40)


def noun(english: str):
    return next(noun for noun in nouns() if noun.english[0] == english)


def adjective(english: str):
    return next(adjective for adjective in adjectives() if adjective.english == english)


def verb(infinitive: str):
    prefix, _, stem = infinitive.rpartition("-")
    return next(verb for verb in verbs() if (verb.prefix, verb.infinitive) == (prefix, stem))


def words(form) -> str:
    return " ".join(word for word, _ in form)


@pytest.mark.parametrize(
    ("determiner", "adjectives_", "name", "plural", "declined"),
    [
        ("the", "old", "boy", False, "der alte Junge, den alten Jungen, dem alten Jungen, des alten Jungen"),
        ("a", "new", "house", False, "ein neues Haus, ein neues Haus, einem neuen Haus, eines neuen Hauses"),
        ("a", "young", "woman", False, "eine junge Frau, eine junge Frau, einer jungen Frau, einer jungen Frau"),
        ("a", "tired", "father", False, "ein müder Vater, einen müden Vater, einem müden Vater, eines müden Vaters"),
        ("this", "red", "hat", True, "diese roten Hüte, diese roten Hüte, diesen roten Hüten, dieser roten Hüte"),
        ("our", "old", "car", True, "unsere alten Autos, unsere alten Autos, unseren alten Autos, unserer alten Autos"),
        ("every", "old", "dog", False, "jeder alte Hund, jeden alten Hund, jedem alten Hund, jedes alten Hundes"),
    ],
)  # fmt: skip
def test_german_declension(determiner, adjectives_, name, plural, declined):
    phrase = NounPhrase(noun(name), adjective(adjectives_), determiner, plural)
    assert ", ".join(words(phrase.german(case)) for case in ("nom", "acc", "dat", "gen")) == declined


def test_a_plural_without_an_article_has_strong_adjectives():
    phrase = NounPhrase(noun("child"), adjective("poor"), "a", plural=True)
    assert [words(phrase.german(case)) for case in ("nom", "acc", "dat")] == [
        "arme Kinder",
        "arme Kinder",
        "armen Kindern",
    ]
    assert words(phrase.english("")) == "poor children"


def test_english_articles_and_owners():
    assert words(NounPhrase(noun("apple"), None, "a").english("")) == "an apple"
    assert words(NounPhrase(noun("apple"), adjective("fresh"), "a").english("")) == "a fresh apple"
    assert words(NounPhrase(noun("child"), None, "the", plural=True).english("s")) == "the children's"
    assert words(NounPhrase(noun("king"), None, "the", plural=True).english("s")) == "the kings'"


def test_a_prefix_comes_off_in_main_clauses_only():
    keys = ("now", "prefix", "end", "past", "pastend", "inf", "part", "zu", "has")
    assert [words(german_verb(verb("an-rufen"), key, plural=False)) for key in keys] == [
        "ruft", "an", "anruft", "rief", "anrief", "anrufen", "angerufen", "anzurufen", "hat",
    ]  # fmt: skip
    assert [words(german_verb(verb("ein-schlafen"), key, plural=True)) for key in keys] == [
        "schlafen", "ein", "einschlafen", "schliefen", "einschliefen", "einschlafen", "eingeschlafen", "einzuschlafen",
        "sind",
    ]  # fmt: skip
    assert words(german_verb(verb("wissen"), "past", plural=True)) == "wussten"
    assert [words(english_verb(verb("weg-werfen"), key, plural=False)) for key in ("now", "to", "part", "has")] == [
        "throws away", "to throw away", "thrown away", "has",
    ]  # fmt: skip


def test_there_are_a_few_hundred_templates_and_all_of_them_can_be_filled():
    assert len(templates()) > 250
    for number, template in enumerate(templates()):
        for seed in range(3):
            pair = fill(template, random.Random(3 * number + seed))
            assert all(pair.source)
            assert all(pair.target)
            assert not any("{" in word for word in pair.source + pair.target)


def test_every_word_is_linked_but_for_those_without_a_counterpart():
    for _, pair in draw(SOME):
        sources, targets = ({side[k] for side in pair.links} for k in (0, 1))
        assert max(sources) < len(pair.source)
        assert max(targets) < len(pair.target)
        assert pair.links == sorted(set(pair.links))
        left = [word for i, word in enumerate(pair.source) if i not in sources]
        left += [word for j, word in enumerate(pair.target) if j not in targets]
        assert {word.lower() for word in left} <= NEVER_LINKED, (pair.source, pair.target, left)


def test_links_join_words_and_their_translations():
    dictionary = {
        english: german for word in nouns() for english, german in zip(word.english, word.german, strict=True)
    }
    for _, pair in draw(SOME):
        linked = {(pair.source[i], pair.target[j]) for i, j in pair.links}
        for word in pair.source:
            if word in dictionary and word not in ("fish", "cook"):
                assert any(one == word and other[:3] == dictionary[word][:3] for one, other in linked), (word, pair)


def test_a_subordinate_clause_ends_with_its_verb():
    template = next(each for each in templates() if [token.name for token in each.german][:2] == ["weil", "P"])
    pair = fill(template, random.Random(1))
    comma = pair.target.index(",")
    (source,) = {i for i, j in pair.links if j == comma - 1 and pair.source[i] != ","}
    assert source < pair.source.index(",")
    assert pair.target[0] == "Weil"


def test_prepositions_and_articles_are_contracted_with_the_links_of_both():
    contracted = [pair for _, pair in draw(SOME) if "im" in pair.target]
    assert any(pair.source[i] == "the" and pair.target[j] == "im" for pair in contracted for i, j in pair.links)
    for pair in contracted:
        linked = {pair.source[i].lower() for i, j in pair.links if pair.target[j].lower() == "im"}
        assert linked <= {"in", "the"}
        assert "in" in linked
        assert "in dem" not in " ".join(pair.target)


def test_splits_have_their_sizes_and_no_sentence_in_common():
    pairs = list(draw(SOME))
    assert Counter(split for split, _ in pairs) == {"train": 300, "val": 50, "test": 40}
    assert len({" ".join(pair.source) for _, pair in pairs}) == 390
    fewer = list(draw(DemoOptions(pairs=10, validation_pairs=50, test_pairs=40)))
    assert fewer == pairs[:100]


def test_another_seed_draws_other_sentences_and_the_same_seed_the_same_in_another_process():
    assert list(draw(SOME)) != list(draw(DemoOptions(pairs=300, validation_pairs=50, test_pairs=40, seed=0)))
    code = (
        "from unrolled.data.demo.draw import DemoOptions, draw\n"
        "for split, pair in draw(DemoOptions(pairs=30, validation_pairs=5, test_pairs=4)): print(split, pair)"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(Path(unrolled.__file__).parents[1])}
    there = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    here = [f"{split} {pair}" for split, pair in draw(DemoOptions(pairs=30, validation_pairs=5, test_pairs=4))]
    assert there.stdout.splitlines() == here


def test_words_of_a_kind_are_different():
    for items in (nouns(), adverbs()):
        assert len({(item.kind, item.english) for item in items}) == len(items)
    assert len({(word.english, kind) for word in adjectives() for kind in word.kinds}) == sum(
        len(word.kinds) for word in adjectives()
    )


@pytest.mark.parametrize("options", [{"pairs": 0}, {"seed": -1}, {"test_pairs": 1.5}])
def test_sizes_that_make_no_sense_are_refused(options):
    with pytest.raises(UserError, match=f"data.demo.{next(iter(options))}"):
        DemoOptions(**options)
