"""Beam search over the real models: what it says of a hypothesis, teacher forcing says too."""

import math
from types import SimpleNamespace

import pytest
import torch
from support.generators import BOS, EOS
from support.small_models import (
    CELLS,
    COMBINATIONS,
    IDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    S,
    batch_of,
    build,
    build_lm,
    teacher_forced,
    words,
)

from unrolled.search.beam import beam_search
from unrolled.search.length import PerToken
from unrolled.search.settings import BeamSearch, Greedy

SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)


def with_end(hypothesis):
    return [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
@torch.no_grad()
def test_attention_memory_follows_its_hypothesis(name, attention, cell):
    model = build(name, attention, cell, seed=5)
    for source, hypotheses in zip(
        SOURCES, BeamSearch(beam_size=7, max_length_ratio=1.0).nbest(model, batch_of(SOURCES), 7)
    ):
        assert len(hypotheses) > 1
        for hypothesis in hypotheses:
            sequence = with_end(hypothesis)
            log_probs, _ = teacher_forced(model, [source], [[BOS, *sequence[:-1]]])
            expected = float(log_probs[0, torch.arange(len(sequence)), sequence].sum())
            assert math.isclose(hypothesis.log_probability, expected, rel_tol=1e-5)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_beam_of_one_is_greedy_and_the_batch_does_not_matter(name, attention, cell):
    model = build(name, attention, cell, seed=7)
    together = Greedy()(model, batch_of(SOURCES))
    assert [h.tokens for h in BeamSearch(beam_size=1)(model, batch_of(SOURCES))] == [h.tokens for h in together]
    for source, hypothesis in zip(SOURCES, together):
        assert Greedy()(model, batch_of([source]))[0].tokens == hypothesis.tokens


def test_a_beam_as_wide_as_the_search_space_finds_the_true_best_of_a_translator():
    model, longest = build("cgru", "gru_att", seed=3), 2
    sequences = [[], *([word] for word in range(3, TARGET_WORDS))]  # every sentence of at most 2 tokens with </s>
    (found,) = beam_search(
        model,
        batch_of(SOURCES[:1]),
        beam_size=TARGET_WORDS**longest,
        max_lengths=torch.tensor([longest]),
        score=PerToken(),
        nbest=len(sequences),
    )
    scores = {}
    for sequence in sequences:
        with torch.no_grad():
            log_probs, _ = teacher_forced(model, SOURCES[:1], [[BOS, *sequence]])
        target = [*sequence, EOS]
        scores[tuple(sequence)] = float(log_probs[0, torch.arange(len(target)), target].mean())
    assert [tuple(h.tokens) for h in found] == sorted(scores, key=scores.__getitem__, reverse=True)


@pytest.mark.parametrize("cell", CELLS)
def test_the_same_search_serves_language_models(cell):
    model = build_lm(cell)
    batch = SimpleNamespace(target=torch.zeros(2, 1, dtype=torch.int64))
    found = beam_search(model, batch, beam_size=3, max_lengths=torch.tensor([4, 6]), score=PerToken())
    assert all(1 <= len(with_end(hypothesis)) <= limit for (hypothesis,), limit in zip(found, [4, 6]))
