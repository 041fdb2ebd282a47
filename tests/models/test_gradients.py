"""Gradients: right numerically, present everywhere, and the same for the unrolled and the repeated step."""

import pytest
import torch
from support.small_models import (
    ATTENTIONS,
    CELLS,
    COMBINATIONS,
    IDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    B,
    D,
    E,
    S,
    T,
    build,
    build_lm,
    decoder_of,
    pad,
    randomise,
    sizes_for,
    with_sizes,
    words,
)
from torch.func import functional_call

from unrolled.models.cells import make_cell


class Call(torch.nn.Module):
    """Any function of a module, as a module, so that ``functional_call`` can put parameters in."""

    def __init__(self, module, function):
        super().__init__()
        self.module = module
        self.function = function

    def forward(self, *inputs):
        return self.function(self.module, *inputs)


def gradients_are_right(module, function, *inputs):
    """``gradcheck`` of ``function(module, *inputs)`` in the inputs and in every parameter."""
    call = Call(randomise(module.double(), seed=16), function)
    names = [name for name, _ in call.named_parameters()]
    values = [parameter.detach().requires_grad_() for parameter in call.parameters()]

    def of_everything(*everything):
        parameters = dict(zip(names, everything[len(inputs) :], strict=True))
        return functional_call(call, parameters, everything[: len(inputs)])

    return torch.autograd.gradcheck(of_everything, [*(x.requires_grad_() for x in inputs), *values])


def normal(*shape, seed=17):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def tiny(attention):
    """An attention with query size 2, annotation size 2, size 2, and other sizes (of the coverage) 1."""
    return with_sizes(ATTENTIONS[attention], 2, 1)(query_size=2, annotation_size=2)


@pytest.mark.parametrize("name", CELLS)
def test_cell_gradients_are_right(name):
    cell = make_cell(name, input_size=3, hidden_size=2)
    state = [normal(2, 2, seed=18 + part) for part in range(len(cell.start(torch.zeros(1), 1)))]

    def run(cell, inputs, *state):
        outputs, last = cell.unroll(inputs, state)
        return (outputs, *last)

    assert gradients_are_right(cell, run, normal(2, 2, 3), *state)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_gradients_are_right(name):
    valid = torch.tensor([[True, True, False], [True, True, True]])

    def run(attention, annotations, *queries):
        prepared = attention.prepare(annotations, valid)
        state, outputs = attention.start(prepared), []
        for query in queries:
            context, weights, state = attention.step(query, prepared, state)
            outputs += [context, weights[valid]]
        return (*outputs, *(part[valid] if part.ndim == 3 else part for part in state))

    assert gradients_are_right(tiny(name), run, normal(2, 3, 2), normal(2, 2, seed=19), normal(2, 2, seed=20))


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_decoder_gradients_are_right(name, attention, cell):
    mechanism = None if attention == "none" else tiny(attention)
    decoder = decoder_of(name, cell)(embedding_size=1, annotation_size=2, size=2, attention=mechanism)
    valid = torch.tensor([[True, True]])

    def run(decoder, annotations, embeddings):
        (states, contexts), weights = decoder.unroll(embeddings, decoder.start(annotations, valid))
        return states, contexts, weights

    assert gradients_are_right(decoder, run, normal(1, 2, 2), normal(1, 2, 1, seed=21))


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_every_parameter_gets_a_gradient(name, attention, cell):
    model = build(name, attention, cell, encoder_layers=2, seed=22)
    source, lengths = pad(words([3, S], SOURCE_WORDS))
    target_in = torch.tensor(words([T] * B, TARGET_WORDS))
    hidden, _ = model(source, lengths, target_in, torch.ones_like(target_in, dtype=torch.bool))
    torch.log_softmax(model.readout.output(hidden), dim=-1)[:, 5].sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 1e-12]
    assert without == []


@pytest.mark.parametrize("cell", CELLS)
def test_every_parameter_of_the_language_model_gets_a_gradient(cell):
    model = build_lm(cell)
    tokens = torch.tensor(words([T] * B, TARGET_WORDS))
    hidden, _ = model(tokens, model.zero_state(B))
    torch.log_softmax(model.output(hidden), dim=-1)[..., 5].sum().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 1e-12] == []


@pytest.mark.parametrize("name", CELLS)
def test_unrolled_cell_equals_repeated_step_in_outputs_and_all_gradients(name):
    cell = randomise(make_cell(name, input_size=E, hidden_size=D).double())
    initial = [normal(B, D, seed=23 + part) for part in range(len(cell.start(torch.zeros(1), 1)))]

    def repeated(cell, inputs, state):
        outputs = []
        for x in inputs.unbind(1):
            state = cell.step(cell.project(x), state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1), state

    found = []
    for run in (type(cell).unroll, type(cell).unroll_plainly, repeated):
        leaves = [normal(B, T, E), *initial]
        leaves = [leaf.clone().requires_grad_() for leaf in leaves]
        outputs, state = run(cell, leaves[0], tuple(leaves[1:]))
        loss = (outputs * normal(B, T, D, seed=25)).sum() + sum((part**2).sum() for part in state)
        found.append([outputs, *torch.autograd.grad(loss, [*leaves, *cell.parameters()])])
    for fast, hoisted, plain in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, rtol=0, atol=1e-12)
        torch.testing.assert_close(hoisted, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_unrolled_decoder_equals_repeated_step_in_outputs_and_all_gradients(name, attention, cell):
    decoder = build(name, attention, cell, seed=26).decoder
    decoder_size, encoder_size = sizes_for(attention)
    valid = torch.arange(S) < torch.tensor([3, S]).unsqueeze(1)

    def repeated(embeddings, state):
        collected = []
        for embedding in embeddings.unbind(1):
            (s, c), weights, state = decoder.step(embedding, state)
            collected.append((s, c, weights))
        states, contexts, weights = (torch.stack(parts, dim=1) for parts in zip(*collected, strict=True))
        return (states, contexts), weights

    found = []
    for run in (decoder.unroll, repeated):
        annotations = normal(B, S, 2 * encoder_size).requires_grad_()
        embeddings = normal(B, T, E, seed=27).requires_grad_()
        (states, contexts), weights = run(embeddings, decoder.start(annotations, valid))
        assert states.shape == (B, T, decoder_size)
        assert contexts.shape == (B, T, 2 * encoder_size)
        assert weights.shape == (B, T, S)
        outputs = (states, contexts, weights)
        loss = sum((out * normal(*out.shape, seed=28 + i)).sum() for i, out in enumerate(outputs))
        gradients = torch.autograd.grad(loss, [annotations, embeddings, *decoder.parameters()], allow_unused=True)
        found.append([*outputs, *gradients])
    for fast, plain in zip(*found, strict=True):
        assert fast is not None
        torch.testing.assert_close(fast, plain, rtol=0, atol=1e-12)


def test_forward_keeps_only_the_positions_that_count():
    model = build(seed=29)
    source, lengths = pad(words([3, S], SOURCE_WORDS))
    target_in = torch.tensor(words([T] * B, TARGET_WORDS))
    counted = torch.tensor([[True, False, False], [True, True, True]])
    everything, _ = model(source, lengths, target_in, torch.ones_like(counted))
    some, weights = model(source, lengths, target_in, counted)
    torch.testing.assert_close(some, everything.unflatten(0, (B, T))[counted], rtol=0, atol=1e-12)
    assert weights.shape == (B, T, S)
