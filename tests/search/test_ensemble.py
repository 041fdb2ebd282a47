"""Several generators as one."""

from types import SimpleNamespace

import pytest
import torch
from support.generators import EOS, Chain, Watched, every_finished

from unrolled.search.beam import beam_search, greedy
from unrolled.search.ensemble import Ensemble, arithmetic_mean, geometric_mean
from unrolled.search.forced import score
from unrolled.search.length import NoNormalization

V, PLACES = 6, 4


def shared(*generators):
    batches = [generator.batch() for generator in generators]
    return SimpleNamespace(members=batches, sentences=batches[0].sentences)


def test_means_by_hand():
    p = torch.tensor([[[0.1, 0.9]], [[0.4, 0.6]]], dtype=torch.float64)
    torch.testing.assert_close(arithmetic_mean(p.log()).exp(), torch.tensor([[0.25, 0.75]], dtype=torch.float64))
    roots = torch.tensor([[0.04, 0.54]], dtype=torch.float64).sqrt()
    torch.testing.assert_close(geometric_mean(p.log()).exp(), roots / roots.sum())


@pytest.mark.parametrize("mean", [geometric_mean, arithmetic_mean])
def test_an_impossible_word_does_no_harm(mean):
    log_probs = torch.tensor([[[0.0, 1.0, 0.0]], [[0.5, 0.5, 0.0]]]).log()
    found = mean(log_probs).exp()
    assert found.sum() == pytest.approx(1)
    assert found[0, 2] == 0


@pytest.mark.parametrize("mean", [geometric_mean, arithmetic_mean])
def test_twice_the_same_is_the_same(mean):
    one = Watched.random(3, 7, V, seed=1, eos_bonus=0.7)
    both = Ensemble([one, one], mean)
    limits = torch.full((3,), 6)
    options = {"beam_size": 3, "max_lengths": limits, "score": NoNormalization(), "nbest": 3}
    alone = beam_search(one, one.batch(), **options)
    together = beam_search(both, shared(one, one), **options)
    assert [[h.tokens for h in n] for n in alone] == [[h.tokens for h in n] for n in together]
    for a, b in zip(alone, together, strict=True):
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-5)


@pytest.mark.parametrize("mean", [geometric_mean, arithmetic_mean])
def test_a_wide_beam_finds_the_best_of_the_mean(mean):
    """Members without memory: their mean is a chain again, which can be enumerated."""
    members = [Chain.random(2, PLACES, V, seed=seed) for seed in (2, 3, 4)]
    averaged = Chain(mean(torch.stack([m.log_probs.flatten(0, 2) for m in members])).view_as(members[0].log_probs))
    found = beam_search(
        Ensemble(members, mean),
        shared(*members),
        beam_size=V**PLACES,
        max_lengths=torch.full((2,), PLACES),
        score=NoNormalization(),
    )
    for sentence, (best,) in enumerate(found):
        value, words = every_finished(averaged, sentence, PLACES, NoNormalization())[0]
        assert (best.tokens, best.score) == (words, pytest.approx(value, abs=1e-5))


def test_scores_of_search_are_those_of_forced_decoding():
    members = [Watched.random(3, 7, V, seed=seed, eos_bonus=0.7) for seed in (5, 6)]
    together = Ensemble(members, geometric_mean)
    for generator, batch in ((members[0], members[0].batch()), (together, shared(*members))):
        hypotheses = greedy(generator, batch, max_lengths=torch.full((3,), 6))
        assert len({len(h.tokens) for h in hypotheses}) > 1  # padding takes part
        rows = [[1, *h.tokens, EOS] for h in hypotheses]
        batch.target_lengths = torch.tensor([len(row) for row in rows])
        batch.target = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
        for scores, hypothesis in zip(score(generator, batch), hypotheses, strict=True):
            assert len(scores) == len(hypothesis.tokens) + 1
            if hypothesis.finished:
                assert sum(scores) == pytest.approx(hypothesis.log_probability, abs=1e-5)
