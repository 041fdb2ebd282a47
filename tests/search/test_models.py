"""Beam search over the real models: what it says of a hypothesis, teacher forcing says too."""

from types import SimpleNamespace

import pytest
import torch
from support.generators import BOS, EOS
from support.small_models import (
    CELLS,
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

SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)


def with_end(hypothesis):
    return [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens


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
