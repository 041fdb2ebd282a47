"""Sampling draws from the distribution that it says, and nothing else."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators import BOS, EOS, PAD, Chain, Watched, greedy_by_hand, log_probability

from unrolled.errors import UserError
from unrolled.search.sampling import Sampling, sample, sharpen

V = 7


def log_probs(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def test_temperature_sharpens():
    found = sharpen(log_probs([0.5, 0.3, 0.2]), temperature=0.5, top_k=None, top_p=None).exp()
    torch.testing.assert_close(found, torch.tensor([[25, 9, 4]], dtype=torch.float64) / 38)


def test_top_k_keeps_the_k_likeliest_and_of_equals_the_first():
    found = sharpen(log_probs([0.1, 0.4, 0.2, 0.3], [0.25] * 4), temperature=1.0, top_k=2, top_p=None).exp()
    expected = [[0, 4 / 7, 0, 3 / 7], [0.5, 0.5, 0, 0]]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(("top_p", "kept"), [(0.01, 1), (0.39, 1), (0.41, 2), (0.69, 2), (0.71, 3), (1.0, 4)])
def test_top_p_keeps_the_fewest_words_that_have_it(top_p, kept):
    found = sharpen(log_probs([0.1, 0.4, 0.2, 0.3]), temperature=1.0, top_k=None, top_p=top_p).exp()
    assert int((found > 0).sum()) == kept
    assert float(found.sum()) == pytest.approx(1)


@pytest.mark.parametrize(("top_p", "kept"), [(0.25, 1), (0.5, 2), (0.75, 3)])
def test_words_that_have_exactly_top_p_are_enough(top_p, kept):
    found = sharpen(log_probs([0.25] * 4), temperature=1.0, top_k=None, top_p=top_p).exp()
    assert int((found > 0).sum()) == kept


@pytest.mark.parametrize("temperature", [math.inf, math.nan, 1e-320, 0.0, -1.0, True, "warm"])
def test_a_temperature_that_float32_cannot_take_is_refused(temperature):
    with pytest.raises(UserError, match=r"search\.temperature=.*: give a number from 0\.0001 to 10000\.0"):
        Sampling(temperature=temperature)


@pytest.mark.parametrize("temperature", [1e-4, 1e4])
def test_the_limits_of_the_temperature_give_probabilities(temperature):
    found = sharpen(torch.tensor([[-80.0, -1e-6, -15.0]]), temperature=temperature, top_k=None, top_p=0.9).exp()
    assert found.isfinite().all()
    assert float(found.sum()) == pytest.approx(1)


def test_a_model_whose_weights_are_no_numbers_is_said_in_one_line():
    chain = Chain(torch.full((1, 3, V, V), math.nan))
    with pytest.raises(UserError, match="not numbers"):
        sample(chain, chain.batch(), max_lengths=torch.tensor([3]), random=torch.Generator())


@settings(max_examples=60)
@given(
    seed=st.integers(0, 999),
    temperature=st.floats(0.2, 3),
    top_k=st.none() | st.integers(1, V + 1),
    top_p=st.none() | st.floats(0.05, 1),
)
def test_what_is_drawn_from_sums_to_one_and_keeps_the_likeliest(seed, temperature, top_k, top_p):
    logits = torch.randn(3, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = sharpen(torch.log_softmax(logits, 1), temperature=temperature, top_k=top_k, top_p=top_p).exp()
    torch.testing.assert_close(found.sum(1), torch.ones(3, dtype=torch.float64))
    assert torch.all(found.gather(1, logits.argmax(1, keepdim=True)) > 0)
    assert int((found > 0).sum(1).max()) <= (top_k or V)


def draw(generator, batch, count, places, **options):
    random = torch.Generator().manual_seed(1)
    limits = torch.full((len(batch.sentences),), places)
    return [sample(generator, batch, max_lengths=limits, random=random, **options) for _ in range(count)]


def test_frequencies_are_probabilities():
    """Of all sentences of at most one word, drawn 4,000 times; <s> and padding never, the rest shares what they had."""
    generator = Chain.random(1, 2, V, seed=3)
    first = generator.log_probs[0, 0, BOS].exp()
    allowed = [word for word in range(V) if word not in (PAD, BOS)]
    total = sum(float(first[word]) for word in allowed)
    counts = Counter(h.tokens[0] if h.tokens else EOS for (h,) in draw(generator, generator.batch(), 4000, 1))
    assert set(counts) <= set(allowed)
    for word in allowed:
        p = float(first[word]) / total
        assert counts[word] / 4000 == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 4000))


def test_log_probability_is_the_models_own_and_states_are_not_mixed_up():
    generator = Watched.random(5, 6, V, seed=4, eos_bonus=0.5)
    for hypotheses in draw(generator, generator.batch(), 20, 5, temperature=1.7):
        for sentence, hypothesis in enumerate(hypotheses):
            words = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            assert len(words) <= 5
            expected = log_probability(generator, sentence, words)
            assert hypothesis.score == hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


def test_one_word_left_is_greedy():
    generator = Watched.random(4, 6, V, seed=5, eos_bonus=0.5)
    (found,) = draw(generator, generator.batch(), 1, 5, top_k=1)
    assert [(h.tokens, h.finished) for h in found] != []
    for sentence, hypothesis in enumerate(found):
        # top_k counts among the words that may be generated
        assert (hypothesis.tokens, hypothesis.finished) == greedy_by_hand(generator, sentence, 5)


def test_a_seed_repeats_and_the_next_call_draws_on():
    generator = Chain.random(6, 9, V, seed=6)
    limits = torch.full((6,), 8)
    one, other = Sampling(seed=5), Sampling(seed=5)
    first = one.draw(generator, generator.batch(), limits)
    assert first == other.draw(generator, generator.batch(), limits)
    assert first != one.draw(generator, generator.batch(), limits)
    assert first != Sampling(seed=6).draw(generator, generator.batch(), limits)


@pytest.mark.parametrize("bad", [{"temperature": 0}, {"top_k": 0}, {"top_p": 0}, {"top_p": 1.5}])
def test_settings_that_make_no_sense_are_refused(bad):
    with pytest.raises(UserError, match=f"search.{next(iter(bad))}="):
        Sampling(**bad)
