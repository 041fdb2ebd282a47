"""Every attention against its equations, sentence by sentence without padding, over several steps."""

import numpy as np
import pytest
import torch
from support import reference_equations as reference
from support import symbols
from support.small_models import ATTENTIONS, REMEMBERING, D, S, randomise, sizes_for

STEPS = 4
LENGTHS = [3, S, 1]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_follows_its_equations(name):
    symbols.require_equations(name)
    query_size, encoder_size = sizes_for(name)
    attention = ATTENTIONS[name](query_size=query_size, annotation_size=2 * encoder_size).double()
    randomise(attention, seed=4)
    torch.manual_seed(5)
    annotations = torch.randn(len(LENGTHS), S, 2 * encoder_size, dtype=torch.float64)
    queries = torch.randn(STEPS, len(LENGTHS), query_size, dtype=torch.float64)
    valid = torch.arange(S) < torch.tensor(LENGTHS).unsqueeze(1)
    prepared = attention.prepare(annotations, valid)
    state = attention.start(prepared)
    p, memories = symbols.attention(name, attention), [reference.NO_MEMORY] * len(LENGTHS)
    for query in queries:
        context, weights, state = attention.step(query, prepared, state)
        for row, length in enumerate(LENGTHS):
            real = list(annotations[row, :length].numpy())
            expected, alpha, memories[row] = reference.ATTENTIONS[name](p, query[row].numpy(), real, memories[row])
            np.testing.assert_allclose(context[row].detach().numpy(), expected, rtol=0, atol=1e-10)
            np.testing.assert_allclose(weights[row, :length].detach().numpy(), alpha, rtol=0, atol=1e-10)
            assert torch.all(weights[row, length:] == 0)
            if name in REMEMBERING:  # the memory itself, not only what it does
                memory = state[0][row].detach().numpy()[: length if state[0].shape[1] == S else None]
                by_equations = memories[row][0] if isinstance(memories[row], tuple) else memories[row]
                np.testing.assert_allclose(memory.squeeze(), np.squeeze(by_equations), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", REMEMBERING)
def test_attention_with_memory_remembers(name):
    attention = randomise(ATTENTIONS[name](query_size=D, annotation_size=D).double())
    torch.manual_seed(6)
    annotations, query = torch.randn(1, S, D, dtype=torch.float64), torch.randn(1, D, dtype=torch.float64)
    prepared = attention.prepare(annotations, torch.ones(1, S, dtype=torch.bool))
    _, first, state = attention.step(query, prepared, attention.start(prepared))
    _, second, _ = attention.step(query, prepared, state)
    assert (first - second).abs().max() > 1e-3


@torch.no_grad()
def test_a_walk_by_whole_words_does_not_drift():
    """One word a step over 60 words, and back from the last one: the gates' small errors would add up to words."""
    attention = ATTENTIONS["location_extrapolating"](query_size=D, annotation_size=D).double()
    for parameter in attention.parameters():
        parameter.zero_()
    attention.mixture.bias.fill_(9.0)  # by location
    attention.deviation.bias.fill_(-9.0)  # as sharply as it can
    prepared = attention.prepare(torch.zeros(1, 60, D).double(), torch.ones(1, 60, dtype=torch.bool))
    for step, keep, last, expected in ((1.0, 1.0, -1.0, range(1, 60)), (-1.0, 1.0, -1.0, range(58, -1, -1))):
        state, found = attention.start(prepared), []
        if step < 0:  # the last word first
            attention.mean.bias.copy_(torch.tensor([0.0, -1.0, 1.0]))
            _, _, state = attention.step(torch.zeros(1, D).double(), prepared, state)
        attention.mean.bias.copy_(torch.tensor([step, keep, last]))
        for _ in expected:
            _, weights, state = attention.step(torch.zeros(1, D).double(), prepared, state)
            found.append(int(weights.argmax()))
        assert found == list(expected)


def test_pooled_and_unpooled_memory_are_different_functions():
    torch.manual_seed(7)
    annotations, query = torch.randn(1, S, D, dtype=torch.float64), torch.randn(1, D, dtype=torch.float64)
    found = []
    for name in ("gru_att", "gru_att_pooled"):
        attention = randomise(ATTENTIONS[name](query_size=D, annotation_size=D).double(), seed=8)
        prepared = attention.prepare(annotations, torch.ones(1, S, dtype=torch.bool))
        _, first, state = attention.step(query, prepared, attention.start(prepared))
        _, second, _ = attention.step(query, prepared, state)
        found.append((first, second))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=0, atol=1e-12)  # both start at v_0 = 0
    assert (found[0][1] - found[1][1]).abs().max() > 1e-4
