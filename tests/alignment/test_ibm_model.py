"""IBM model 2 with a diagonal, and its training, against a plain reference."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reference_aligner import Reference
from support.reordered import pairs_of

from unrolled.alignment import ibm_model
from unrolled.alignment.word_pairs import number_words
from unrolled.data.reorder.grammar import Grammar

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


@given(TEXT, SETTINGS)
@settings(max_examples=80)
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
    for (source, target), links in zip(text, ibm_model.best_links(numbered, model), strict=True):
        assert len(links) == (len(target) if source else 0)
        for i, j in enumerate(links.tolist(), start=1):
            joint = expected.joint(source, target, i)
            assert joint[j + 1] == pytest.approx(max(joint), rel=1e-9)  # equals may fall either way by rounding


@given(TEXT, SETTINGS)
@settings(max_examples=80)
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


def test_the_same_text_gives_the_same_model():
    text = list(pairs_of(Grammar(reordering="nested", pairs=100, validation_pairs=1, test_pairs=1), "train"))
    numbered = number_words(*lines([(pair.source, pair.target) for pair in text]))
    one, other = (trained(numbered, p0=0.1, tension=4.0, iterations=3, alpha=0.1, optimize_tension=True) for _ in "ab")
    assert np.array_equal(one[0].theta, other[0].theta)
