import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unrolled.errors import UserError
from unrolled.inference import mixture_weights as interpolation
from unrolled.inference.mixture_weights import mixed, tune


def likelihood(log_probs, weights):
    """Mean log p, written down without any trick."""
    return np.log(np.asarray(weights) @ np.exp(log_probs)).mean()


def models(count, tokens=11, low=-8.0):
    return arrays(np.float64, (count, tokens), elements=st.floats(low, 0))


@given(models(3), arrays(np.float64, 3, elements=st.floats(0.01, 1)))
def test_a_mixture_is_the_weighted_mean_of_probabilities(log_probs, weights):
    weights = weights / weights.sum()
    np.testing.assert_allclose(mixed(log_probs, weights), np.log(weights @ np.exp(log_probs)), atol=1e-10)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(models(3))
def test_rounds_are_em_steps_and_none_lowers_the_likelihood(monkeypatch, log_probs):
    monkeypatch.setattr(interpolation, "GAP", -2.0)  # never good enough
    weights = np.full(3, 1 / 3)
    for rounds in range(1, 5):
        joint = weights[:, None] * np.exp(log_probs)
        expected = (joint / joint.sum(axis=0)).mean(axis=1)  # of the posterior p(m | token)
        monkeypatch.setattr(interpolation, "ROUNDS", rounds)
        found = tune(log_probs)
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert likelihood(log_probs, found) >= likelihood(log_probs, weights) - 1e-12
        weights = expected


@settings(max_examples=40)
@given(models(2))
@example(np.array([[-1 / 256, *[0.0] * 11], [0.0] * 12]))  # so flat that the rounds do not suffice
def test_two_weights_are_as_good_as_the_best_of_a_fine_grid(log_probs):
    """Or as far below it as a warning says."""
    weights = tune(log_probs)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    grid = max(likelihood(log_probs, [share, 1 - share]) for share in np.linspace(0, 1, 501))
    below = interpolation.gradient(np.exp(log_probs - log_probs.max(axis=0)), weights).max() - 1
    assert likelihood(log_probs, weights) >= grid - max(below, 1e-6)


def test_three_weights_are_those_that_made_the_text():
    """Tokens of a known mixture of three distributions over five words."""
    random = np.random.default_rng(3)
    distributions = random.dirichlet(np.ones(5) / 2, size=3)
    words = random.choice(5, size=20_000, p=np.array([0.6, 0.1, 0.3]) @ distributions)
    weights = tune(np.log(distributions[:, words]))
    np.testing.assert_allclose(weights, [0.6, 0.1, 0.3], atol=0.05)


def test_a_single_model_has_weight_1_and_a_useless_one_nothing():
    log_probs = np.array([[-1.0, -2.0, -3.0]])
    assert tune(log_probs).tolist() == [1.0]
    assert tune(np.vstack([log_probs, log_probs - 1]))[1] < 1e-6
    assert tune(np.vstack([log_probs, log_probs])).tolist() == [0.5, 0.5]


def test_a_model_may_give_probability_0_where_another_does_not():
    log_probs = np.log(np.array([[0.5, 1e-300, 0.5, 0.5], [1e-300, 0.4, 0.2, 0.2]]))
    log_probs[log_probs < -600] = -np.inf
    weights = tune(log_probs)
    grid = max(likelihood(log_probs, [share, 1 - share]) for share in np.linspace(0.001, 0.999, 999))
    assert likelihood(log_probs, weights) >= grid - 1e-6
    assert np.isfinite(mixed(log_probs, weights)).all()


def test_tokens_that_nobody_expects_do_not_move_the_weights():
    log_probs = np.array([[-1.0, -5.0, -2.0], [-3.0, -1.0, -2.5]])
    nothing = np.full((2, 2), -np.inf)
    np.testing.assert_allclose(tune(np.hstack([log_probs, nothing])), tune(log_probs))
    assert mixed(nothing, np.array([0.5, 0.5])).tolist() == [-np.inf, -np.inf]
    with pytest.raises(UserError, match="no weights can be found"):
        tune(nothing)


def test_very_small_probabilities_are_no_trouble():
    log_probs = np.array([[-1e4, -2e4, -9e3], [-9e3, -3e4, -9e3]])
    np.testing.assert_allclose(tune(log_probs), [1 / 2, 1 / 2], atol=1e-3)


def test_a_weight_of_0_means_no_say():
    log_probs = np.array([[-1.0, -2.0], [-3.0, -np.inf]])
    np.testing.assert_allclose(mixed(log_probs, np.array([1.0, 0.0])), [-1, -2])
    assert mixed(log_probs, np.array([0.0, 1.0])).tolist() == [-3.0, -np.inf]


def test_weights_that_are_not_settled_are_given_with_a_word_about_it(monkeypatch, caplog):
    monkeypatch.setattr(interpolation, "ROUNDS", 2)
    tune(np.array([[-1.0, -5.0, -2.0], [-3.0, -1.0, -2.5]]))
    assert "nats a token" in caplog.text
