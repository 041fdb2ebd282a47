"""The hidden Markov model is its equation: every alignment of a short pair written out and weighed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unrolled.alignment import hmm_model
from unrolled.alignment.hmm_model import UNIFORM, HiddenMarkov
from unrolled.alignment.word_pairs import number_words

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(" ".join)


def random_model(text, seed, p0):
    draw = np.random.default_rng(seed)
    theta, null = draw.random(len(text.source)) + 0.01, draw.random(text.target_words) + 0.01
    return HiddenMarkov(theta, null, draw.random(2 * hmm_model.REACH + 1) + 0.01, p0)


def weighed(pairs, target, model):
    """(probability, a) of every alignment a, 0 for the null word: ``pairs (n, m)``, ``target (m)`` are numbers."""
    n, m = pairs.shape
    for a in product(range(n + 1), repeat=m):
        p, before = 1.0, 0
        for i, j in enumerate(a):
            if j == 0:
                p *= model.p0 * model.null[target[i]]
                continue
            reach = len(model.jumps) // 2
            jumps = [model.jumps[min(max(other - before, -reach), reach) + reach] for other in range(1, n + 1)]
            share = (1 - UNIFORM) * jumps[j - 1] / sum(jumps) + UNIFORM / n
            p *= (1 - model.p0) * share * model.theta[pairs[j - 1, i]]
            before = j
        yield p, a


@pytest.fixture(params=[1, 60])
def reach(request, monkeypatch):
    """The reach of jumps, also one that most sentences are longer than."""
    monkeypatch.setattr(hmm_model, "REACH", request.param)
    return request.param


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sources=st.lists(words, min_size=1, max_size=3), data=st.data())
def test_expected_counts_are_those_of_all_alignments(reach, sources, data):
    targets = data.draw(st.lists(words, min_size=len(sources), max_size=len(sources)))
    text = number_words(sources, targets)
    model = random_model(text, data.draw(st.integers(0, 99)), data.draw(st.sampled_from([0.0, 0.1, 0.6])))
    theta, null, jumps = np.zeros(len(model.theta)), np.zeros(len(model.null)), np.zeros(2 * reach + 1)
    log_likelihood, best = 0.0, {}
    for block in text.blocks:
        for line, target, pairs in zip(block.lines, block.target, block.pairs, strict=True):
            alignments = list(weighed(pairs, target, model))
            total = sum(p for p, _ in alignments)
            log_likelihood += np.log(total)
            q = np.zeros((pairs.shape[0] + 1, pairs.shape[1]))
            for p, a in alignments:
                before = 0
                for i, j in enumerate(a):
                    q[j, i] += p / total
                    if j:
                        theta[pairs[j - 1, i]] += p / total
                        place = min(max(j - before, -reach), reach)
                        alike = [max(min(other - before, reach), -reach) == place for other in range(1, len(q))]
                        jumps[place + reach] += p / total / sum(alike)
                        before = j
                    else:
                        null[target[i]] += p / total
            best[line] = q
    found = hmm_model.expectation(text, model)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)
    np.testing.assert_allclose(found.theta, theta, atol=1e-12)
    np.testing.assert_allclose(found.null, null, atol=1e-12)
    np.testing.assert_allclose(found.jumps, jumps, atol=1e-12)
    for line, links in enumerate(hmm_model.best_links(text, model)):
        for i, j in enumerate(links):
            assert best[line][j + 1, i] == pytest.approx(best[line][:, i].max())


@pytest.mark.parametrize(("types", "half", "pairs"), [(12, 6, 100), (100, 100, 30)], ids=["short", "beyond the reach"])
def test_halves_that_change_places_are_found_and_the_likelihood_rises(types, half, pairs):
    """There are so few types of words that most sentences have one twice: its neighbours tell which is which."""
    draw = np.random.default_rng(2)
    halves = [[draw.integers(types, size=half), draw.integers(types, size=half)] for _ in range(pairs)]
    sources = [" ".join(f"s{word}" for word in [*first, *second]) for first, second in halves]
    targets = [" ".join(f"t{word}" for word in [*second, *first]) for first, second in halves]
    text = number_words(sources, targets)
    theta, null = np.full(len(text.source), 1 / text.target_words), np.full(text.target_words, 1 / text.target_words)
    model, likelihoods = hmm_model.start(theta, null, p0=0.01), []
    for _ in range(20):
        expected = hmm_model.expectation(text, model)
        likelihoods.append(expected.log_likelihood)
        model = hmm_model.maximization(text, model, expected, alpha=None)
    assert np.diff(likelihoods).min() > -1e-6
    assert model.jumps.argmax() == hmm_model.REACH + 1
    found = [links.tolist() for links in hmm_model.best_links(text, model)]
    gold = [*range(half, 2 * half), *range(half)]
    right = sum(one == other for links in found for one, other in zip(links, gold, strict=True))
    assert right / (pairs * 2 * half) > 0.95


def test_long_sentences_do_not_underflow():
    text = number_words([" ".join(f"w{k}" for k in range(300))], [" ".join(f"v{k}" for k in range(280))])
    model = random_model(text, 1, 0.1)
    expected = hmm_model.expectation(text, HiddenMarkov(1e-5 * model.theta, 1e-5 * model.null, model.jumps, 0.1))
    assert np.isfinite(expected.log_likelihood)
    assert expected.theta.sum() + expected.null.sum() == pytest.approx(280)


def test_an_impossible_word_breaks_nothing():
    text = number_words(["a b"], ["x y"])
    model = HiddenMarkov(np.zeros(len(text.source)), np.zeros(text.target_words), np.ones(2 * hmm_model.REACH + 1), 0.1)
    expected = hmm_model.expectation(text, model)
    assert np.isfinite(expected.log_likelihood)
    assert not expected.theta.any()
    assert [links.tolist() for links in hmm_model.best_links(text, model)] == [[-1, -1]]
