"""What the record of attention holds is what the model does: weights of teacher forcing, memories of step by step."""

import pytest
import torch
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, TARGET_WORDS, B, S, T, batch_of, build, pad, words

from unrolled.models.attended import attended, position_norms

SOURCES = words([S, 3], SOURCE_WORDS)
TARGET_IN = torch.tensor([[1, *sentence] for sentence in words([T, T], TARGET_WORDS, seed=1)])
REMEMBERS = {"gru_att", "gru_att_pooled", "coverage"}


@pytest.mark.parametrize(("name", "mechanism", "cell"), COMBINATIONS, ids=IDS)
def test_weights_are_those_of_teacher_forcing(name, mechanism, cell):
    model = build(name, mechanism, cell)
    source, lengths = pad(SOURCES)
    weights, norms = attended(model, source, lengths, TARGET_IN)
    _, expected = model(source, lengths, TARGET_IN, TARGET_IN > 0)
    assert weights.shape == (B, T + 1, S)
    torch.testing.assert_close(weights, expected, rtol=0, atol=1e-12)
    assert not weights[1, :, 3:].any()
    assert (norms is not None) == (mechanism in REMEMBERS)


@torch.no_grad()
@pytest.mark.parametrize("name", ["cgru", "bahdanau", "rnnsearch"])
@pytest.mark.parametrize("mechanism", sorted(REMEMBERS))
def test_norms_are_those_of_the_memory_after_each_step_of_search(name, mechanism):
    model = build(name, mechanism)
    source, lengths = pad(SOURCES)
    _, norms = attended(model, source, lengths, TARGET_IN)
    assert norms is not None
    state = model.start(batch_of(SOURCES))
    for i, word in enumerate(TARGET_IN.unbind(1)):
        _, state = model.step(word, state)
        memory = state[-1][0]  # a decoder's state ends with the attention's memory: v, or the coverage
        for row, sentence in enumerate(SOURCES):
            for j in range(len(sentence)):
                expected = sum(float(value) ** 2 for value in memory[row, j]) ** 0.5
                assert norms[row, i, j].item() == pytest.approx(expected, abs=1e-6)
    assert norms.std() > 0.01


def test_norms_do_not_depend_on_the_other_sentences_of_a_batch():
    model = build("cgru", "gru_att")
    together = attended(model, *pad(SOURCES), TARGET_IN)
    alone = attended(model, *pad(SOURCES[1:]), TARGET_IN[1:])
    for both, one in zip(together, alone, strict=True):
        torch.testing.assert_close(both[1:, :, :3], one, rtol=0, atol=1e-12)


def test_memory_without_positions_has_no_norms():
    assert position_norms(()) is None
    assert position_norms((torch.ones(2, 7),)) is None
    assert position_norms((torch.ones(2, 5, 4), torch.ones(2, 7))).tolist() == [[2.0] * 5] * 2
