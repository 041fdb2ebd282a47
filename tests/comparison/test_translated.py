"""The translations of one text by several runs: how they are paired, ordered and measured."""

from statistics import fmean

import pytest
from support.handmade_runs import run

from unrolled.comparison.groups import compare
from unrolled.comparison.translated import Translated
from unrolled.metrics.error_rates import errors_of_lines
from unrolled.metrics.line_scores import Bleu, ExactMatch
from unrolled.metrics.paired_rates import paired_error_rates
from unrolled.metrics.significance import paired_tests
from unrolled.metrics.translation_scores import sentence_chrf

SOURCES = ["ein hund schläft hier", "zwei", "drei katzen sehen einen hund"]
REFERENCES = ["a dog sleeps here", "two", "three cats see a dog"]
LINES = {
    ("dot", 1): ["a dog sleeps here", "to", "three cats"],
    ("dot", 2): ["a dog sleeps there", "two", "cats see a dog"],
    ("gru", 1): ["a cat sleeps", "two", "three cats see a dog"],
    ("gru", 3): ["a dog", "two", "three cats see the dog"],
    ("one", 1): ["a dog sleeps here", "one", "a dog"],
}
FEW = {"bootstrap": 20, "randomization": 20}


def translated(score=None, **more):
    """Three groups: two with two seeds, of which one in common, and one with one."""
    runs = {key: run("-".join(map(str, key)), seed=key[1], **{"choices.attention": key[0]}) for key in LINES}
    hypotheses = {made.folder: LINES[key] for key, made in runs.items()}
    given = {"sources": SOURCES, "references": REFERENCES, "score": score or Bleu("13a", False), **more}
    return Translated(groups=compare(list(runs.values())).groups, hypotheses=hypotheses, **given)


@pytest.mark.parametrize(
    ("sources", "unit", "lengths"),
    [
        (SOURCES, "words", [4, 1, 5]),
        (["hund", "e\u0301t\u00e9", "walk\tV;PST"], "letters", [4, 3, 4]),
        (["hund", "der hund"], "words", [1, 2]),
    ],
)
def test_sources_are_as_long_as_they_have_words_or_single_words_as_they_have_letters(sources, unit, lengths):
    assert translated(sources=sources).lengths == (unit, lengths)


def test_runs_are_tested_against_the_baseline_s_run_of_the_same_seed():
    whole = translated()
    pairs = whole.pairs(whole.groups[0], **FEW)
    assert {label: sorted(seeds) for label, seeds in pairs.items()} == {"gru": [1], "one": [1]}
    alone = paired_tests(LINES["dot", 1], {"it": LINES["gru", 1]}, REFERENCES, **FEW)["it"]
    assert pairs["gru"][1]["bleu"] == alone["bleu"]


def test_lines_that_are_right_or_wrong_are_tested_by_their_error_rates():
    whole = translated(ExactMatch("word"))
    errors = [[errors_of_lines(LINES[name, 1], REFERENCES, "word")] for name in ("dot", "gru")]
    assert whole.pairs(whole.groups[0], **FEW)["gru"][1] == paired_error_rates(*errors, **FEW)


def test_only_groups_of_several_runs_are_compared_over_seeds():
    whole = translated()
    dot, gru, one = whole.groups
    assert set(whole.differences(dot, samples=9)) == {"gru"}
    assert set(whole.differences(one, samples=9)) == set()
    assert set(whole.bands([4, 1, 5], [1, 3], samples=9)) == {"dot", "gru", "one"}
    assert whole.of(gru) == [LINES["gru", 1], LINES["gru", 3]]


def test_sentences_begin_with_those_that_lose_most():
    whole = translated()
    dot, gru, _ = whole.groups
    chrf = {key: sentence_chrf(lines, REFERENCES) for key, lines in LINES.items()}
    means = {name: [fmean(scores) for scores in zip(chrf[name, 1], chrf[name, seed])] for name, seed in
             (("dot", 2), ("gru", 3))}  # fmt: skip
    gains = [mine - below for mine, below in zip(means["gru"], means["dot"], strict=True)]
    sentences = whole.sentences(gru, dot)
    assert [sentence.gain for sentence in sentences] == pytest.approx(sorted(gains))
    first = sentences[0]
    assert (first.line, first.source, first.reference) == (1, SOURCES[0], REFERENCES[0])
    assert {name: text for name, (text, _) in first.translations.items()} == {
        name: LINES[name, 1][0] for name in ("dot", "gru", "one")
    }
    alone = whole.sentences(gru, None)
    assert [sentence.gain for sentence in alone] == pytest.approx(sorted(means["gru"]))
