"""A language model's advice, and the coverage penalty, against search by enumeration."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generators import BOS, EOS, Chain, every_finished
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, S, batch_of, build, build_lm, teacher_forced, words

from unrolled.errors import UserError
from unrolled.search.beam import beam_search
from unrolled.search.coverage import Covered
from unrolled.search.fusion import Fused
from unrolled.search.length import GNMT, NoNormalization
from unrolled.search.settings import BeamSearch

V, PLACES = 6, 4
SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)


def test_fusion_finds_the_best_of_the_weighted_sum():
    one, other = (Chain.random(2, PLACES, V, seed=seed, eos_bonus=-3) for seed in (1, 2))
    together = Chain(one.log_probs + 0.8 * other.log_probs)
    found = beam_search(
        Fused(one, other, 0.8),
        one.batch(),
        beam_size=V**PLACES,
        max_lengths=torch.full((2,), PLACES),
        score=NoNormalization(),
    )
    for sentence, (best,) in enumerate(found):
        value, expected = every_finished(together, sentence, PLACES, NoNormalization())[0]
        assert (best.tokens, best.score) == (expected, pytest.approx(value, abs=1e-5))
    alone = [every_finished(one, sentence, PLACES, NoNormalization())[0][1] for sentence in range(2)]
    assert alone != [best.tokens for (best,) in found]


class Looking(Chain):
    """Looks at source position (word + place) mod its length, with most of its weight."""

    def batch(self, *sentences):
        batch = super().batch(*sentences)
        return SimpleNamespace(sentences=batch.sentences, source_lengths=2 + batch.sentences % 3)

    def attend(self, tokens, state):
        sentence, _, place = state
        lengths = (2 + sentence % 3).unsqueeze(1)
        positions = torch.arange(4)
        focus = positions == (tokens.unsqueeze(1) + place.unsqueeze(1)) % lengths
        weights = torch.where(focus, 0.7, 0.3 / (lengths - 1)) * (positions < lengths)
        log_probs, state = self.step(tokens, state)
        return log_probs, weights[:, : self.width], state

    width = 4


def coverage_by_hand(generator, sentence, tokens, beta):
    """beta sum_j log min(sum_i alpha_ij, 1), its weights asked for one step after the other."""
    state, so_far = generator.start(generator.batch(sentence)), torch.zeros(2 + sentence % 3)
    for before in [BOS, *tokens]:
        _, weights, state = generator.attend(torch.tensor([before]), state)
        so_far += weights[0, : len(so_far)]
    return beta * float(so_far.clamp(max=1).log().sum())


@settings(max_examples=15)
@given(seed=st.integers(0, 999), beta=st.floats(0.05, 3))
def test_a_wide_beam_finds_the_best_under_the_coverage_penalty(seed, beta):
    """Its early end loses nothing either: the penalty of what continues may still vanish."""
    generator = Looking.random(3, PLACES, V, seed=seed)
    covered, score = Covered(generator, beta), GNMT()
    options = {"max_lengths": torch.full((3,), PLACES), "score": score, "penalty": covered.penalty}
    found = beam_search(covered, generator.batch(), beam_size=V**PLACES, nbest=3, **options)
    for sentence, best in enumerate(found):
        every = [
            (value + coverage_by_hand(generator, sentence, tokens, beta), tokens)
            for value, tokens in every_finished(generator, sentence, PLACES, score)
        ]
        expected = sorted(every, key=lambda entry: -entry[0])[:3]
        assert [h.score for h in best] == pytest.approx([value for value, _ in expected], abs=1e-4)


@pytest.mark.parametrize("beta", [0.0, 0.4])
@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
@torch.no_grad()
def test_every_model_can_be_advised_and_covered(name, attention, cell, beta):
    """The score is what teacher forcing says of both models and of the attention."""
    model, language_model, weight = build(name, attention, cell, seed=5), build_lm("gru"), 0.3
    options = {"coverage_penalty": beta, "language_model": language_model, "language_model_weight": weight}
    search = BeamSearch(beam_size=4, length_normalization=NoNormalization(), max_length_ratio=1.0, **options)
    batch = batch_of(SOURCES)
    batch.target = torch.full((len(SOURCES), 1), BOS)
    for source, found in zip(SOURCES, search.nbest(model, batch, 3), strict=True):
        for hypothesis in found:
            sequence = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            log_probs, weights = teacher_forced(model, [source], [[BOS, *sequence[:-1]]])
            advice, state = [], language_model.zero_state(1)
            for token in [BOS, *sequence[:-1]]:
                advised, state = language_model.step(torch.tensor([token]), state)
                advice.append(advised)
            both = log_probs[0] + weight * torch.cat(advice)
            expected = float(both[torch.arange(len(sequence)), sequence].sum())
            assert hypothesis.log_probability == pytest.approx(expected, rel=1e-5)
            covered = beta * float(weights[0, :, : len(source)].sum(dim=0).clamp(max=1).log().sum())
            assert hypothesis.score == pytest.approx(expected + covered, rel=1e-5)


@pytest.mark.parametrize("option", ["coverage_penalty", "language_model_weight"])
def test_weights_are_not_negative(option):
    with pytest.raises(UserError, match=f"search.{option}=-0.1"):
        BeamSearch(**{option: -0.1})
