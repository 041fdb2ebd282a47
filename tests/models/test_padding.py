"""Padding, the company of other sentences, and what is to come change nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_models import (
    ATTENTIONS,
    CELLS,
    COMBINATIONS,
    IDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    D,
    S,
    T,
    build,
    build_lm,
    pad,
    randomise,
    sizes_for,
    teacher_forced,
    words,
)

TINY = 1e-12
lengths_in_any_order = st.lists(st.integers(1, S), min_size=1, max_size=4)
few = settings(max_examples=6, deadline=None, derandomize=True, database=None)


@few
@given(lengths=lengths_in_any_order, extra=st.integers(0, 3), filler=st.integers(0, SOURCE_WORDS - 1))
@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_a_sentence_is_the_same_alone_and_in_any_batch(name, attention, cell, lengths, extra, filler):
    """At any position, beside sentences of any length, with any ids in the padding, padded further than needed."""
    model = _model(name, attention, cell)
    sources, targets = words(lengths, SOURCE_WORDS), words([T] * len(lengths), TARGET_WORDS)
    together, weights = teacher_forced(model, sources, targets, length=max(lengths) + extra, filler=filler)
    for row, length in enumerate(lengths):
        alone, alpha = teacher_forced(model, [sources[row]], [targets[row]])
        torch.testing.assert_close(together[row], alone[0], rtol=0, atol=TINY)
        torch.testing.assert_close(weights[row, :, :length], alpha[0], rtol=0, atol=TINY)
        assert torch.all(weights[row, :, length:] == 0)
        torch.testing.assert_close(weights[row].sum(dim=-1), torch.ones(T).double(), rtol=0, atol=TINY)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_padding_gets_no_gradient_and_gives_none(name, attention, cell):
    """The gradients of a batch are the sum of its sentences' gradients: padding adds nothing."""
    model = _model(name, attention, cell)
    sources, targets = words([2, S], SOURCE_WORDS), words([T, T], TARGET_WORDS)

    def gradients(*rows):
        log_probs, _ = teacher_forced(model, [sources[r] for r in rows], [targets[r] for r in rows], length=S)
        return torch.autograd.grad(log_probs[..., 5].sum(), list(model.parameters()))

    for both, first, second in zip(gradients(0, 1), gradients(0), gradients(1), strict=True):
        torch.testing.assert_close(both, first + second, rtol=0, atol=TINY)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_later_target_words_change_nothing_before_them(name, attention, cell):
    model = _model(name, attention, cell)
    sources, targets = words([S], SOURCE_WORDS), words([T], TARGET_WORDS)
    before, _ = teacher_forced(model, sources, targets)
    changed = [[*targets[0][:-1], 4 + (targets[0][-1] - 3) % (TARGET_WORDS - 4)]]
    after, _ = teacher_forced(model, sources, changed)
    torch.testing.assert_close(before[:, : T - 1], after[:, : T - 1], rtol=0, atol=TINY)
    assert (before[:, -1] - after[:, -1]).abs().max() > 1e-6


@pytest.mark.parametrize("name", ATTENTIONS)
def test_annotations_at_padding_are_never_seen(name):
    """Whatever stands there, context and weights of every step are the same."""
    query_size, encoder_size = sizes_for(name)
    attention = randomise(ATTENTIONS[name](query_size=query_size, annotation_size=2 * encoder_size).double())
    torch.manual_seed(32)
    annotations = torch.randn(2, S, 2 * encoder_size, dtype=torch.float64)
    valid = torch.arange(S) < torch.tensor([2, S]).unsqueeze(1)
    found = []
    for filler in (0.0, 1e6):
        filled = torch.where(valid.unsqueeze(-1), annotations, torch.tensor(filler).double())
        prepared = attention.prepare(filled, valid)
        state, outputs = attention.start(prepared), []
        for step in range(T):
            context, weights, state = attention.step(annotations[:, step, :1].expand(-1, query_size), prepared, state)
            assert torch.all(weights[~valid] == 0)
            outputs += [context, weights]
        found.append(torch.stack([out.sum() for out in outputs]))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=TINY)


@few
@given(lengths=lengths_in_any_order)
@pytest.mark.parametrize("cell", CELLS)
def test_language_model_padding_and_company_change_nothing(cell, lengths):
    model = build_lm(cell, seed=33)
    sentences = words(lengths, TARGET_WORDS)
    tokens, _ = pad(sentences, length=max(lengths) + 1)
    together, _ = model(tokens, model.zero_state(len(lengths)))
    for row, sentence in enumerate(sentences):
        alone, _ = model(torch.tensor([sentence]), model.zero_state(1))
        assert alone.shape == (1, len(sentence), D)
        torch.testing.assert_close(together[row, : len(sentence)], alone[0], rtol=0, atol=TINY)


_models = {}


def _model(*combination):
    """Built once a combination: hypothesis calls a test many times."""
    if combination not in _models:
        _models[combination] = build(*combination, seed=34, encoder_layers=2)
    return _models[combination]
