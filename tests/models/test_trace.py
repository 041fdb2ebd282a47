"""A trace is the model, step by step: the same predictions, and derivatives that a chain of Jacobians gives too."""

import pytest
import torch
from support.small_models import (
    CELLS,
    COMBINATIONS,
    IDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    B,
    D,
    S,
    T,
    build,
    build_lm,
    fed,
    words,
)

from unrolled.data.batch import make_batch
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.models.trace import Recurrent, Tracer

BATCH = make_batch(words([S, 3], SOURCE_WORDS), words([T, T], TARGET_WORDS, seed=1), range(B))


def jacobian_product(cell, projected, state, gradient):
    """Row by row: dJ/d(next state) times the Jacobian of one step, the state as one vector."""
    sizes = [part.shape[1] for part in state]

    def step(row, flat):
        parts = cell.step(row.unsqueeze(0), tuple(part.unsqueeze(0) for part in flat.split(sizes)))
        return torch.cat(parts, dim=1).squeeze(0)

    rows = zip(projected, torch.cat(state, dim=1), gradient, strict=True)
    found = [g @ torch.autograd.functional.jacobian(lambda flat, x=x: step(x, flat), s) for x, s, g in rows]
    return torch.stack(found)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_traced_unroll_is_the_unroll(cell, layers):
    model = build_lm(cell, layers=layers)
    tracer = Tracer()
    traced, last = model(BATCH.target_in, model.zero_state(B), tracer)
    plain, expected = model(BATCH.target_in, model.zero_state(B))
    torch.testing.assert_close(traced, plain, rtol=0, atol=1e-12)
    torch.testing.assert_close(last, expected, rtol=0, atol=1e-12)
    assert len(tracer.layers) == layers
    assert [len(state) for state in tracer.states()] == [layers * len(last[0])] * BATCH.target_in.shape[1]


@pytest.mark.parametrize("cell", CELLS)
def test_derivatives_are_products_of_jacobians(cell):
    """dJ_{t+n}/dh_t = dJ_{t+n}/dh_{t+n} times n Jacobians, of an LSTM over h and c as one vector."""
    model = build_lm(cell, layers=1)
    trace = model.trace(BATCH)
    end = len(trace.states) - 1
    flat = [part for state in trace.states for part in state]
    found = torch.autograd.grad(-trace.log_probs[:, end].sum(), flat, allow_unused=True)
    found = [torch.zeros_like(part) if d is None else d for part, d in zip(flat, found)]
    parts = len(trace.states[0])
    found = [torch.cat(found[parts * t : parts * (t + 1)], dim=1) for t in range(end + 1)]

    # dJ/dh = R^T (p - 1[word]), and J does not see an LSTM's c
    states = [tuple(part.detach() for part in state) for state in trace.states]
    output = model.output
    error = torch.softmax(states[end][0] @ output.weight.T + output.bias, dim=1)
    error[torch.arange(B), BATCH.target_out[:, end]] -= 1
    expected = torch.cat([error @ output.weight, *(torch.zeros(B, D, dtype=torch.float64) for _ in states[0][1:])], 1)
    (layer,) = model.cells()
    for t in range(end, -1, -1):
        torch.testing.assert_close(found[t], expected, rtol=0, atol=1e-10)
        x = layer.project(model.embedding(BATCH.target_in[:, t])).detach()
        if t:
            expected = jacobian_product(layer, x, states[t - 1], expected).detach()


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_every_decoder_can_be_traced(name, attention, cell):
    """Its own state of D numbers, an LSTM's twice, each of which a change of would change later predictions."""
    model = build(name, attention, cell)
    trace = model.trace(BATCH)
    hidden, _ = model(BATCH.source, BATCH.source_lengths, BATCH.target_in, torch.ones_like(BATCH.target_out) > 0)
    log_probs = torch.log_softmax(model.readout.output(hidden), dim=1).gather(1, BATCH.target_out.reshape(-1, 1))
    torch.testing.assert_close(trace.log_probs.flatten(), log_probs.flatten(), rtol=0, atol=1e-12)
    size = model.decoder.recurrent(model.start(BATCH))[0].shape[1]
    for t, state in enumerate(trace.states[:-1]):
        assert [part.shape for part in state] == [(B, size)] * (2 if cell == "lstm" else 1)
        gradients = torch.autograd.grad(trace.log_probs[:, -1].sum(), state, retain_graph=True)
        assert all(bool((d.norm(dim=1) > 1e-9).all()) for d in gradients)
        if t:
            earlier = torch.autograd.grad(trace.log_probs[:, t - 1].sum(), state, retain_graph=True, allow_unused=True)
            assert all(d is None or not d.any() for d in earlier)


@pytest.mark.parametrize("changes", [{}, {"decoder": fed("lstm")}], ids=["", "input feeding"])
def test_derivatives_of_a_decoder_are_those_of_finite_differences(changes):
    """Of the last word's loss by an LSTM decoder's (s, c), or (s, c, h~), which only later steps may see."""
    model = build("bahdanau", "gru_att", "lstm", **changes)
    trace = model.trace(BATCH)
    found = torch.autograd.grad(trace.log_probs[:, 2].sum(), trace.states[1])

    def last(*recurrent):
        state = model.start(BATCH)
        for t in range(3):
            log_probs, state = model.step(BATCH.target_in[:, t], state)
            if t == 1:
                prepared, _, memory = state
                state = (prepared, recurrent, memory)
        return log_probs.gather(1, BATCH.target_out[:, 2:3]).sum()

    with torch.no_grad():
        recurrent = tuple(part.detach().clone() for part in trace.states[1])
        for part, gradient in zip(recurrent, found, strict=True):
            for place in [(0, 0), (1, D - 1)]:
                at, ends = part[place].item(), []
                for change in (1e-5, -1e-5):
                    part[place] = at + change
                    ends.append(last(*recurrent).item())
                part[place] = at
                assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(gradient[place].item(), abs=1e-8)


def test_a_model_without_recurrence_says_so():
    model = feedforward_lm(
        source_vocabulary=None,
        target_vocabulary=TARGET_WORDS,
        attention=None,
        order=3,
        embedding_size=5,
        hidden_size=7,
        direct=False,
        dropout=0.0,
    )
    assert not isinstance(model, Recurrent)
    assert isinstance(build_lm(), Recurrent)
    assert isinstance(build(), Recurrent)
