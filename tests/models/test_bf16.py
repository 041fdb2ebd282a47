"""Under bfloat16 autocast every model runs, forwards and backwards, and stays near float32."""

import pytest
import torch
from support.small_models import (
    CELLS,
    COMBINATIONS,
    IDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    S,
    T,
    batch_of,
    build,
    build_lm,
    flatten,
    step_by_step,
    teacher_forced,
    words,
)


def bfloat16():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def near(found, exact):
    """Probabilities within a few percent, absolutely."""
    return (found.float().exp() - exact.exp()).abs().max() < 0.03


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_translator_in_bfloat16_is_near_float32(name, attention, cell):
    model = build(name, attention, cell, seed=38, encoder_layers=2).float()
    sources, targets = words([3, S], SOURCE_WORDS), words([T, T], TARGET_WORDS)
    exact, exact_weights = teacher_forced(model, sources, targets)
    with bfloat16():
        forced, weights = teacher_forced(model, sources, targets)
        state = model.start(batch_of(sources))
        kept = [leaf.dtype for leaf in flatten(state)]
        stepped, state = step_by_step(model, torch.tensor(targets), state)
    assert stepped.dtype == torch.float32  # scores are added up over a sentence
    assert [leaf.dtype for leaf in flatten(state)] == kept  # a step changes no type: beams can be joined
    assert near(forced, exact)
    assert near(stepped, exact)
    assert (weights.float() - exact_weights).abs().max() < 0.03
    assert torch.all(weights[0, :, 3:] == 0)
    forced.float().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("cell", CELLS)
def test_language_model_in_bfloat16_is_near_float32(cell):
    model = build_lm(cell, seed=39).float()
    tokens = torch.tensor(words([T, T], TARGET_WORDS))
    exact, _ = step_by_step(model, tokens, model.zero_state(2))
    with bfloat16():
        stepped, _ = step_by_step(model, tokens, model.zero_state(2))
        hidden, _ = model(tokens, model.zero_state(2))
        forced = torch.log_softmax(model.output(hidden).float(), dim=-1)
    assert stepped.dtype == torch.float32
    assert near(stepped, exact)
    assert near(forced, exact)
