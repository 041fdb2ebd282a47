import logging
import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_aligner import Reference

from unrolled.alignment import ibm_model, word_pairs
from unrolled.alignment.aligner import Aligner
from unrolled.alignment.word_pairs import number_words
from unrolled.data.reorder.grammar import Grammar, generate
from unrolled.errors import UserError
from unrolled.metrics.alignment_scores import alignment_scores

SENTENCE = st.lists(st.sampled_from("abcde"), max_size=5)
TEXT = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=6)
SETTINGS = st.fixed_dictionaries(
    {
        "p0": st.sampled_from([0.0, 0.08, 0.5]),
        "tension": st.sampled_from([0.1, 4.0, 13.0]),
        "alpha": st.sampled_from([None, 0.01, 0.7]),
        "optimize_tension": st.booleans(),
        "iterations": st.integers(0, 4),
    }
)


def lines(text):
    return [" ".join(source) for source, _ in text], [" ".join(target) for _, target in text]


def trained(text, *, p0, tension, iterations, **options):
    """The model, and the log-likelihood before every iteration."""
    model, likelihoods = ibm_model.start(text, p0=p0, tension=tension), []
    for _ in range(iterations):
        expected = ibm_model.expectation(text, model)
        likelihoods.append(expected.log_likelihood)
        model = ibm_model.maximization(text, model, expected, **options)
    return model, likelihoods


def reference(text, *, p0, tension, iterations, **options):
    model, likelihoods = Reference(text, p0=p0, tension=tension), []
    for _ in range(iterations):
        likelihoods.append(model.log_likelihood())
        model.step(**options)
    return model, likelihoods


def vocabulary(sentences):
    """Words in the order in which they are numbered."""
    return list(dict.fromkeys(word for words in sentences for word in words))


# The model


@given(TEXT, SETTINGS)
@settings(deadline=None, max_examples=80)
def test_the_model_is_what_its_equations_say(text, options):
    numbered = number_words(*lines(text))
    model, likelihoods = trained(numbered, **options)
    if not any(source and target for source, target in text):
        assert numbered.blocks == []
        return
    expected, expected_likelihoods = reference(text, **options)
    sources, targets = (vocabulary(side) for side in zip(*text, strict=True))
    assert likelihoods == pytest.approx(expected_likelihoods, rel=1e-9)
    assert model.tension == pytest.approx(expected.tension, rel=1e-9)
    pairs = [(targets[e], sources[f]) for f, e in zip(numbered.source, numbered.target, strict=True)]
    assert len(set(pairs)) == len(pairs)
    assert model.theta == pytest.approx([expected.t[pair] for pair in pairs], rel=1e-9)
    assert model.null == pytest.approx([expected.t[word, None] for word in targets], rel=1e-9)
    if options["iterations"] > 0:
        assert set(expected.t) == {*pairs, *((word, None) for word in targets)}
    for (source, target), found in zip(text, ibm_model.best_links(numbered, model), strict=True):
        assert len(found) == (len(target) if source else 0)
        for i, j in enumerate(found.tolist(), start=1):
            joint = expected.joint(source, target, i)
            assert joint[j + 1] == pytest.approx(max(joint), rel=1e-9)  # equals may fall either way by rounding


@given(TEXT, SETTINGS)
@settings(deadline=None, max_examples=80)
def test_likelihood_never_falls(text, options):
    """Without the prior, that is; the steps of the tension are part of it."""
    _, likelihoods = trained(number_words(*lines(text)), **options | {"alpha": None, "iterations": 8})
    assert all(new >= old - 1e-9 for old, new in pairwise(likelihoods))


def test_steps_of_the_tension_are_short_enough_never_to_lead_down():
    """The second derivative of log δ is a variance of h."""
    for n in (1, 2, 3, 5, 8, 40):
        for m in (1, 2, 3, 7, 50):
            for tension in (0.0, 0.1, 1.0, 4.0, 14.0):
                h, prior = ibm_model._diagonal(n, m, tension)
                variance = (prior * h**2).sum(axis=0) - (prior * h).sum(axis=0) ** 2
                assert variance.max() <= 1 / 12
    assert 2 / ibm_model.RATE > 1 / 12


def test_a_word_whose_probabilities_are_too_small_for_a_float_is_no_division_by_zero():
    """A word expected at each of so many positions that exp(ψ(1/n)) is 0."""
    text = number_words([" ".join(map(str, range(2000)))], ["b c"])
    model, likelihoods = trained(text, p0=0.0, tension=0.0, iterations=3, alpha=1e-9, optimize_tension=False)
    assert model.theta.max() == 0
    assert np.isfinite(likelihoods).all()


# Sentence pairs as numbers


def test_words_get_numbers_and_so_do_two_words_of_one_pair():
    text = number_words(["x y", "", "y x y", "z"], ["A", "B", "A", ""])
    assert (text.source_words, text.target_words, text.lines, text.target_tokens) == (3, 2, 4, 2)
    assert list(zip(text.source.tolist(), text.target.tolist(), strict=True)) == [(0, 0), (1, 0)]
    found = {
        int(line): (source.tolist(), target.tolist(), pairs.tolist())
        for block in text.blocks
        for line, source, target, pairs in zip(block.lines, block.source, block.target, block.pairs, strict=True)
    }
    assert found == {0: ([0, 1], [0], [[0], [1]]), 2: ([1, 0, 1], [0], [[1], [0], [1]])}


def corpus(reordering, pairs=1500, **options):
    sizes = {"pairs": pairs, "validation_pairs": 1, "test_pairs": 1}  # those sets would be drawn before this one
    text = list(generate(Grammar(reordering=reordering, **sizes, **options), "train"))
    return [" ".join(pair.source) for pair in text], [" ".join(pair.target) for pair in text], text


def test_blocks_do_not_change_the_result(monkeypatch):
    sources, targets, _ = corpus("local", 150)
    expected = Aligner().align(sources, targets)
    monkeypatch.setattr(word_pairs, "CELLS", 300)
    monkeypatch.setattr(word_pairs, "PENDING", 50)
    text = number_words(sources, targets)
    assert all(block.pairs.size <= 450 for block in text.blocks)  # one pair of lines may be larger
    assert len(text.blocks) > 100
    assert Aligner().align(sources, targets) == expected


def test_word_numbers_do_not_overflow(monkeypatch):
    """Two words' number is larger than 32 bits with 70,000 words a side."""
    words = [f"w{number}" for number in range(70_000)]
    text = number_words([*words, "w69999 w0"], [*words, "w69999"])
    assert (text.source.max(), text.target.max(), len(text.source)) == (69_999, 69_999, 70_001)
    pairs = set(zip(text.source.tolist(), text.target.tolist(), strict=True))
    assert pairs == {(number, number) for number in range(70_000)} | {(0, 69_999)}


# Alignments


def test_jumps_within_a_very_long_line_are_not_tried(caplog):
    long = " ".join(f"w{number}" for number in range(4000))
    sources, targets = ["a b", long, "a"], ["A B", "A", "A"]
    assert [bool(links) for links in Aligner().align(sources, targets)] == [True, False, True]
    assert "line 2: 4000 and 1 words are too many to be aligned: no links" in caplog.messages
    assert [bool(links) for links in Aligner().align(targets, sources)] == [True, False, True]
    assert [bool(links) for links in Aligner(hmm_iterations=0).align(sources, targets)] == [True, True, True]


@pytest.mark.parametrize(("reordering", "worst"), [("none", 0.01), ("local", 0.03), ("head_final", 0.06)])
def test_the_embedded_corpus_is_aligned(reordering, worst):
    sources, targets, text = corpus(reordering)
    found = Aligner().align(sources, targets)
    assert alignment_scores(found, [(set(pair.links), set(pair.links)) for pair in text]).aer < worst


def test_without_a_diagonal_it_is_ibm_model_1_and_better_where_word_orders_have_little_in_common():
    sources, targets, text = corpus("nested")
    gold = [(set(pair.links), set(pair.links)) for pair in text]
    model_1 = {"tension": 0.0, "optimize_tension": False, "hmm_iterations": 0}
    aligners = Aligner(**model_1), Aligner(hmm_iterations=0)
    error = [alignment_scores(aligner.align(sources, targets), gold).aer for aligner in aligners]
    assert error[0] < error[1] < 0.2
    # word order means nothing to it
    shuffled = [" ".join(random.Random(line).sample(line.split(), len(line.split()))) for line in sources]
    assert shuffled != sources
    words = [
        [sorted((j, line.split()[i]) for i, j in links) for line, links in zip(side, found, strict=True)]
        for side in (sources, shuffled)
        for found in [Aligner(symmetrization="forward", **model_1).align(side, targets)]
    ]
    assert words[0] == words[1]


def test_exchanging_the_sides_exchanges_the_directions():
    sources, targets, _ = corpus("head_final", 200)
    forward = Aligner(symmetrization="forward").align(sources, targets)
    backward = Aligner(symmetrization="backward").align(targets, sources)
    assert forward == [{(i, j) for j, i in links} for links in backward]
    assert forward != Aligner(symmetrization="backward").align(sources, targets)
    assert all(len({j for _, j in links}) == len(links) for links in forward)


def test_an_empty_side_has_no_links():
    assert Aligner().align(["a b", "", " \t", "b"], ["A B", "A", "B", ""])[1:] == [set()] * 3
    assert Aligner().align(["", " "], ["a", ""]) == [set(), set()]
    assert Aligner().align([], []) == []


def test_words_are_what_ascii_white_space_separates():
    (links,) = Aligner().align(["a\u00a0b\u2028c d"], ["A  D"])
    assert links == {(0, 0), (1, 1)}


def test_a_line_an_iteration_says_how_training_goes(caplog):
    caplog.set_level(logging.INFO)
    Aligner(iterations=2, hmm_iterations=1).align(["a b", "a c"], ["A B", "A C"])
    text, *iterations, links = [record.getMessage() for record in caplog.records]
    assert text == "2 pairs of lines, 7 pairs of words"
    assert links.startswith("4 links by grow_diag_final_and, ")
    assert [line.split(":")[0] for line in iterations] == [
        f"{direction}, {iteration}"
        for direction in ("target given source", "source given target")
        for iteration in ("iteration 1 of 2", "iteration 2 of 2", "HMM iteration 1 of 1")
    ]
    assert f"cross-entropy {math.log2(3):.3f} bits, perplexity 3.00, tension 4.00" in iterations[0]


def test_every_option_changes_training(caplog):
    caplog.set_level(logging.INFO)
    changes = [{}, {"iterations": 4}, {"p0": 0.2}, {"tension": 1.0}, {"optimize_tension": False}, {"alpha": None}]
    changes += [{"hmm_iterations": 2}, {"hmm_iterations": 0}]
    said = set()
    for change in changes:
        caplog.clear()
        Aligner(**change).align(["a b c", "b c", "a c d d"], ["A B C", "C B", "D A"])
        said.add(tuple(record.getMessage() for record in caplog.records[1:-1]))
    assert len(said) == len(changes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"iterations": 0}, "iterations=0: give a whole number from 1 to 1000000"),
        ({"iterations": 2.5}, "iterations=2.5: give a whole number"),
        ({"hmm_iterations": -1}, "hmm_iterations=-1: give a whole number from 0"),
        ({"p0": 1.0}, "p0=1.0: give a number from 0.0 to 0.999"),
        ({"p0": "half"}, "p0=half: give a number"),
        ({"tension": float("nan")}, "tension=nan: give a number from 0.0 to 14.0"),
        ({"alpha": 0.0}, "alpha=0.0: give a number from 1e-09"),
        ({"alpha": True}, "alpha=true"),
        ({"optimize_tension": 1}, "optimize_tension=1: give true or false"),
        ({"symmetrization": "grow-diag"}, "symmetrization=grow-diag is unknown; did you mean grow_diag?"),
        (
            {"symmetrization": None},
            "give one of grow_diag_final_and, grow_diag, intersection, union, forward, backward",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(UserError) as error:
        Aligner(**options)
    assert said in str(error.value)


def test_sides_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 source lines and 1 target lines"):
        Aligner().align(["a", "b"], ["A"])


def test_the_result_is_the_same_every_time():
    sources, targets, _ = corpus("nested", 100)
    assert Aligner().align(sources, targets) == Aligner().align(sources, targets)
    text = number_words(sources, targets)
    one, other = (trained(text, p0=0.1, tension=4.0, iterations=3, alpha=0.1, optimize_tension=True) for _ in "ab")
    assert np.array_equal(one[0].theta, other[0].theta)


def test_a_pair_of_lines_too_long_for_a_table_has_no_links_and_a_warning(caplog):
    sources, targets = ["a b", "b a", "a"], ["A B", "B A", "A"]
    plain = Aligner().align(sources, targets)
    long = " ".join(["a"] * 100_000)
    with caplog.at_level(logging.WARNING):
        found = Aligner().align([*sources[:2], long, "a"], [*targets[:2], long, "A"])
    assert found == [*plain[:2], set(), plain[2]]
    assert caplog.messages == ["line 3: 100000 and 100000 words are too many to be aligned: no links"]
