import hashlib
import os
import random
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reordered import pairs_of

import unrolled
from unrolled.data.generated import Pair, write_corpus
from unrolled.data.reorder.grammar import ORDERS, SOURCE_ORDER, Grammar, pairs_of_splits, translate
from unrolled.data.reorder.tree import Phrase, grow
from unrolled.data.reorder.words import SMALLEST, Word, invent
from unrolled.errors import UserError

SPLITS = ("train", "val", "test")


def some(count: int = 300, **options) -> list[Pair]:
    return list(pairs_of(Grammar(pairs=count, validation_pairs=2, test_pairs=3, **options), "train"))


def dictionary(grammar: Grammar) -> dict[str, list[Word]]:
    return invent(
        seed=grammar.seed,
        vocabulary_size=grammar.vocabulary_size,
        fertility=grammar.fertility,
        ambiguity=grammar.ambiguity,
    )


def by_first_word(grammar: Grammar) -> dict[str, Word]:
    return {word.source[0]: word for words in dictionary(grammar).values() for word in words}


def tokens(pair: Pair, words: dict[str, Word]) -> list[tuple[Word, int, tuple[str, ...]]]:
    """Dictionary entry, first target position and translation of every source word, particles left out."""
    linked = defaultdict(list)
    for i, j in pair.links:
        linked[i].append(j)
    return [
        (words[word], linked[i][0], tuple(pair.target[j] for j in linked[i]))
        for i, word in enumerate(pair.source)
        if word in words
    ]


def disorder(pairs: list[Pair]) -> float:
    """Kendall's tau distance of the links: the share of pairs of links that cross."""
    crossing = total = 0
    for pair in pairs:
        ends = [j for _, j in pair.links]
        for i, j in enumerate(ends):
            crossing += sum(other < j for other in ends[i + 1 :])
            total += len(ends) - i - 1
    return crossing / total


grammars = st.builds(
    Grammar,
    pairs=st.just(17),
    validation_pairs=st.just(5),
    test_pairs=st.just(3),
    seed=st.integers(0, 1000),
    depth=st.integers(0, 4),
    min_length=st.integers(6, 11),
    max_length=st.integers(11, 70),
    reordering=st.sampled_from(sorted(ORDERS)),
    vocabulary_size=st.integers(SMALLEST, 400),
    fertility=st.sampled_from([0.0, 0.13, 0.5, 1.0]),
    ambiguity=st.sampled_from([0.0, 0.13, 0.5, 1.0]),
)


@settings(max_examples=60)
@given(grammars)
def test_every_word_is_linked_to_its_translation_and_to_nothing_else(grammar):
    entries = by_first_word(grammar)
    for pair in pairs_of(grammar, "train"):
        links = set(pair.links)
        assert pair.links == sorted(links)
        assert {i for i, _ in links} == set(range(len(pair.source)))
        assert {j for _, j in links} == set(range(len(pair.target)))
        i = 0
        while i < len(pair.source):
            entry = entries[pair.source[i]]
            width = len(entry.source)
            assert tuple(pair.source[i : i + width]) == entry.source
            spans = [[j for k, j in pair.links if k == i + m] for m in range(width)]
            assert all(span == spans[0] for span in spans)
            assert tuple(pair.target[j] for j in spans[0]) in entry.translations
            i += width


@settings(max_examples=60)
@given(grammars)
def test_lengths_are_within_bounds_and_no_source_sentence_occurs_twice(grammar):
    sizes = {"train": grammar.pairs, "val": grammar.validation_pairs, "test": grammar.test_pairs}
    pairs = {split: list(pairs_of(grammar, split)) for split in SPLITS}
    assert {split: len(drawn) for split, drawn in pairs.items()} == sizes
    sentences = [tuple(pair.source) for split in SPLITS for pair in pairs[split]]
    assert len(set(sentences)) == len(sentences)
    assert all(grammar.min_length <= len(sentence) <= grammar.max_length for sentence in sentences)


@settings(max_examples=40)
@given(grammars)
def test_the_dictionary_has_the_wanted_size_and_two_languages_that_differ(grammar):
    words = dictionary(grammar)
    source = {word for entries in words.values() for entry in entries for word in entry.source}
    target = {word for entries in words.values() for entry in entries for t in entry.translations for word in t}
    assert len(source) == grammar.vocabulary_size
    assert not source & target
    assert all(word[-1] in "aeiou" for word in source)
    assert all(word[-1] not in "aeiou" for word in target)


DRAWN = 60_000


def shape(phrase: Phrase) -> tuple:
    """Its kind, and its words and phrases in the order of the source."""
    parts = map(phrase.parts.get, SOURCE_ORDER[phrase.kind])
    return (phrase.kind, *(part.source if isinstance(part, Word) else part and shape(part) for part in parts))


@cache
def drawn_trees() -> list[list[Phrase]]:
    """The different ones among so many small trees of few words."""
    # One word of each kind, and just enough words for the attachments that could go wrong (an adposition to the
    # relative clause at the end of an object or to the clause around it), make such a pair of trees likely.
    words = {
        kind: entries[:1] for kind, entries in invent(seed=3, vocabulary_size=40, fertility=0, ambiguity=0).items()
    }
    rng = random.Random(5)
    trees: dict[tuple, list[Phrase]] = {}
    for _ in range(DRAWN):
        tree = grow(words, rng, length=rng.choice([9, 11, 13, 13]), depth=1)
        trees.setdefault(tuple(map(shape, tree)), tree)
    return list(trees.values())


@pytest.mark.parametrize("level", ["head_final", "nested"])
def test_the_source_has_one_reading_so_that_the_target_is_a_function_of_it(level):
    seen: dict[str, Pair] = {}
    for tree in drawn_trees():
        pair = translate(tree, ORDERS[level])
        assert seen.setdefault(" ".join(pair.source), pair) == pair
    assert DRAWN - len(seen) > 10_000  # most sentences were drawn again and again


def test_without_reordering_links_are_monotone():
    for pair in some(reordering="none", fertility=0.5, max_length=60):
        ends = [j for _, j in pair.links]
        assert ends == sorted(ends)


@pytest.mark.parametrize("sizes", [{"depth": 1, "max_length": 13}, {"depth": 3, "max_length": 80}])
def test_each_level_reorders_more_than_the_one_before(sizes):
    levels = [disorder(some(200, reordering=level, **sizes)) for level in ("none", "local", "head_final", "nested")]
    assert levels[0] == 0
    assert all(below < above for below, above in pairwise(levels))


@pytest.mark.parametrize("options", [{"reordering": level} for level in ORDERS] + [{"ambiguity": 0.7}])
def test_reordering_and_ambiguity_leave_the_source_as_it_is(options):
    assert [pair.source for pair in some(50, **options)] == [pair.source for pair in some(50)]


def order_of(level: str, rule: str) -> set[bool]:
    """Whether the order that a rule makes is seen in the target, for every place where the rule applies."""
    grammar = Grammar(reordering=level, depth=0 if rule == "verb_after_object" else 1, max_length=14)
    entries = by_first_word(grammar)
    seen = set()
    for pair in some(300, reordering=level, depth=grammar.depth, max_length=14):
        sentence = tokens(pair, entries)
        start = 0
        for k, (word, j, _) in enumerate(sentence):
            nouns_before = [at for other, at, _ in sentence[:k] if other.kind == "noun"]
            nouns_after = [at for other, at, _ in sentence[k:] if other.kind == "noun"]
            if word.kind == "conjunction":
                start = k + 1
            elif (rule, word.kind) in (
                ("adjective_after_noun", "adjective"),
                ("verb_after_object", "transitive"),
                ("postposition", "preposition"),
            ):
                seen.add(j > nouns_after[0])
            elif (rule, word.kind) == ("auxiliary_after_verb", "auxiliary"):
                verb = next(at for other, at, _ in sentence[k:] if other.kind in VERBS)
                seen.add(j > verb)
            elif (rule, word.kind) in (
                ("genitive_before_noun", "genitive"),
                ("relative_before_noun", "subject_relative"),
                ("relative_before_noun", "object_relative"),
            ):
                seen.add(j < nouns_before[-1])
            elif rule == "subordinate_before_matrix" and word.kind in ("subordinator", "complementizer"):
                seen.update(j < at for _, at, _ in sentence[start:k])
    return seen


VERBS = ("transitive", "intransitive", "speech")
FIRST_LEVEL = {
    "adjective_after_noun": "local",
    "auxiliary_after_verb": "local",
    "verb_after_object": "head_final",
    "postposition": "head_final",
    "genitive_before_noun": "head_final",
    "relative_before_noun": "nested",
    "subordinate_before_matrix": "nested",
}


@pytest.mark.parametrize("rule", FIRST_LEVEL)
def test_a_rule_holds_always_from_its_level_on_and_never_before(rule):
    levels = list(ORDERS)
    for level in levels:
        assert order_of(level, rule) == {levels.index(level) >= levels.index(FIRST_LEVEL[rule])}


def test_depth_0_has_no_clause_within_a_clause_and_depth_lets_them_in():
    def inner(depth: int) -> int:
        grammar = Grammar(depth=depth, max_length=40)
        kinds = ("subject_relative", "object_relative", "complementizer", "subordinator")
        markers = {word.source[0] for kind in kinds for word in dictionary(grammar)[kind]}
        return sum(word in markers for pair in some(200, depth=depth, max_length=40) for word in pair.source)

    counts = [inner(depth) for depth in (0, 1, 2)]
    assert counts[0] == 0
    assert counts[0] < counts[1] < counts[2]


def test_without_fertility_words_go_one_to_one():
    for pair in some(fertility=0.0, max_length=40):
        assert len(pair.source) == len(pair.target) == len(pair.links)


@pytest.mark.parametrize("fertility", [0.1, 0.4])
def test_fertility_is_the_share_of_nouns_becoming_two_and_of_verbs_that_are_two(fertility):
    words = dictionary(Grammar(fertility=fertility))
    for kind, two in [
        ("noun", lambda word: len(word.translations[0]) == 2),
        ("transitive", lambda word: len(word.source) == 2),
    ]:
        share = sum(map(two, words[kind])) / len(words[kind])
        assert share == pytest.approx(fertility, abs=0.5 / len(words[kind]))
    pairs = some(fertility=fertility)
    assert any(len(pair.target) > len(pair.source) for pair in pairs)
    assert any(len(pair.target) < len(pair.source) for pair in pairs)


def translations(trigger, **options) -> dict[tuple, set]:
    """The translations that are seen of every source word, by word and what `trigger(sentence, k)` says of it."""
    grammar = Grammar(**options)
    entries = by_first_word(grammar)
    seen = defaultdict(set)
    for pair in some(3000, **options):
        sentence = tokens(pair, entries)
        for k, (word, _, translation) in enumerate(sentence):
            seen[word.source, trigger([entry for entry, _, _ in sentence], k)].add(translation)
    return seen


def test_without_ambiguity_a_word_has_one_translation():
    seen = translations(lambda sentence, k: None, ambiguity=0.0)
    assert {len(found) for found in seen.values()} == {1}


def test_an_ambiguous_word_has_two_translations_and_its_trigger_decides():
    def trigger(sentence: list[Word], k: int) -> str | None:
        """The ending of the word that the docs say decides; without nesting it is easy to find."""
        kind = sentence[k].kind
        conjunctions = [i for i in range(k) if sentence[i].kind == "conjunction"]
        start = conjunctions[-1] + 1 if conjunctions else 0
        if kind == "noun":
            before = sentence[k - 1]
            return before.source[0][-1] if before.kind == "adjective" else None
        if kind in ("adjective", "transitive"):
            return next(word.source[0][-1] for word in sentence[k:] if word.kind == "noun")
        if kind == "intransitive":
            return next(word.source[0][-1] for word in sentence[start:] if word.kind == "noun")
        return None

    options = {"ambiguity": 0.3, "depth": 0, "vocabulary_size": 60}
    alone = translations(lambda sentence, k: None, **options)
    ambiguous = [word for words in dictionary(Grammar(**options)).values() for word in words if word.ambiguous]
    seen = {word.kind for word in ambiguous if len(alone[word.source, None]) == 2}
    assert {"noun", "adjective", "transitive", "intransitive"} <= seen
    assert {len(found) for found in translations(trigger, **options).values()} == {1}


def test_ambiguity_is_the_share_of_nouns_adjectives_and_verbs_with_two_translations():
    words = dictionary(Grammar(ambiguity=0.3))
    able = [word for kind in (*VERBS, "noun", "adjective") for word in words[kind]]
    assert sum(word.ambiguous for word in able) == round(0.3 * len(able))
    assert not any(word.ambiguous for kind in ("adverb", "determiner") for word in words[kind])


def test_lengths_spread_over_the_whole_range_up_to_100_words():
    lengths = [len(pair.source) for pair in some(600, max_length=100, depth=3)]
    assert min(lengths) < 15
    assert max(lengths) > 95
    assert sum(length >= 50 for length in lengths) > 0.4 * len(lengths)


def checksums(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_the_files_are_the_same_in_another_process_with_another_hash_seed(tmp_path):
    write_corpus(tmp_path / "here", pairs_of_splits(Grammar(pairs=70, validation_pairs=7, test_pairs=5)))
    code = (
        "import sys; from pathlib import Path; from unrolled.data.generated import write_corpus;"
        "from unrolled.data.reorder.grammar import Grammar, pairs_of_splits;"
        "write_corpus(Path(sys.argv[1]), pairs_of_splits(Grammar(pairs=70, validation_pairs=7, test_pairs=5)))"
    )
    package = Path(unrolled.__file__).parents[1]
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(package)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], env=environment, check=True)
    assert checksums(tmp_path / "here") == checksums(tmp_path / "there")
    assert len(checksums(tmp_path / "here")) == 9


def test_the_files_hold_what_the_grammar_gives(tmp_path):
    grammar = Grammar(pairs=11, validation_pairs=7, test_pairs=5, max_length=30)
    write_corpus(tmp_path, pairs_of_splits(grammar))
    for split in SPLITS:
        pairs = list(pairs_of(grammar, split))
        lines = {
            side: (tmp_path / f"{split}.{side}").read_text(encoding="utf-8").split("\n")
            for side in ("source", "target", "align")
        }
        assert lines["source"] == [" ".join(pair.source) for pair in pairs] + [""]
        assert lines["target"] == [" ".join(pair.target) for pair in pairs] + [""]
        assert lines["align"] == [" ".join(f"{i}-{j}" for i, j in pair.links) for pair in pairs] + [""]


def test_seeds_differ_and_seed_0_is_a_seed():
    first, second, again = (some(20, seed=seed) for seed in (0, 1, 0))
    assert first == again
    assert first != second


def test_validation_and_test_sets_do_not_depend_on_the_number_of_training_pairs():
    for split in ("val", "test"):
        few, many = (list(pairs_of(Grammar(pairs=n, validation_pairs=7, test_pairs=5), split)) for n in (3, 19))
        assert few == many


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": 0}, "pairs=0"),
        ({"pairs": 2.5}, "pairs=2.5"),
        ({"validation_pairs": -1}, "validation_pairs=-1"),
        ({"test_pairs": "many"}, "test_pairs=many"),
        ({"depth": -1}, "depth=-1"),
        ({"min_length": 2}, "min_length=2"),
        ({"min_length": 9, "max_length": 8}, "max_length=8"),
        ({"reordering": "free"}, "reordering=free.*none, local, head_final, nested"),
        ({"vocabulary_size": SMALLEST - 1}, f"vocabulary_size={SMALLEST - 1}.*{SMALLEST}"),
        ({"fertility": 1.1}, "fertility=1.1"),
        ({"ambiguity": float("nan")}, "ambiguity=nan"),
    ],
)
def test_a_senseless_option_gets_one_line_that_names_it(options, message):
    with pytest.raises(UserError, match=message) as caught:
        Grammar(**options)
    assert "\n" not in str(caught.value)


def test_a_grammar_with_too_few_sentences_says_so_instead_of_searching_forever():
    small = Grammar(min_length=3, max_length=3, vocabulary_size=SMALLEST, pairs=1000, test_pairs=1)
    with pytest.raises(UserError, match=r"different sentences, 1501 are needed; raise data.grammar.max_length"):
        list(pairs_of(small, "train"))


def test_the_examples_in_the_documentation_are_what_the_code_makes():
    page = (Path(__file__).parents[2] / "docs" / "reorder.md").read_text(encoding="utf-8")
    # ```text, options and number of the pair, source, gloss, target, gloss, links
    examples = re.findall(r"```text\nGrammar\((.*)\) pair (\d+)\n(.*)\n.*\n(.*)\n.*\n(.*)\n```", page)
    wanted = defaultdict(dict)
    for options, number, *lines in examples:
        wanted[options][int(number)] = [line.split() for line in lines]
    assert len(examples) == page.count("```text\nGrammar(") >= 15
    for options, found in wanted.items():
        grammar = Grammar(**eval(f"dict({options})"))
        for number, pair in enumerate(islice(pairs_of(grammar, "train"), max(found) + 1)):
            if number in found:
                assert found[number] == [pair.source, pair.target, [f"{i}-{j}" for i, j in pair.links]]


def test_the_test_set_may_be_longer_and_deeper_than_what_was_trained_on():
    sizes = {"pairs": 60, "validation_pairs": 20, "test_pairs": 20}
    grammar = Grammar(**sizes, max_length=9, depth=0, test_min_length=15, test_max_length=24, test_depth=3)
    lengths = {split: [len(pair.source) for pair in pairs_of(grammar, split)] for split in ("train", "val", "test")}
    assert max(lengths["train"] + lengths["val"]) <= 9
    assert 15 <= min(lengths["test"]) <= max(lengths["test"]) <= 24
    same = Grammar(**sizes, max_length=9, depth=0)
    assert {len(pair.source) <= 9 for pair in pairs_of(same, "test")} == {True}
    with pytest.raises(UserError, match=r"test_max_length=8 is below .*test_min_length=15"):
        Grammar(test_min_length=15, test_max_length=8)
    with pytest.raises(UserError, match=r"test_max_length=20 is below .*test_min_length=30"):
        Grammar(test_min_length=30)
