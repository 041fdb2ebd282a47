"""Cells and the recurrent language model against the lecture's and the cGRU note's equations."""

import numpy as np
import pytest
import torch
from support import reference_equations as reference
from support import symbols
from support.small_models import CELLS, TARGET_WORDS, B, D, E, T, build_lm, randomise, step_by_step, words

from unrolled.models.cells import GRUResetAfter, GRUResetBefore, make_cell


@pytest.mark.parametrize("name", CELLS)
def test_cell_follows_its_equations(name):
    cell = randomise(make_cell(name, input_size=E, hidden_size=D).double(), seed=1)
    torch.manual_seed(2)
    inputs = torch.randn(B, T, E, dtype=torch.float64)
    state = tuple(torch.randn(B, D, dtype=torch.float64) for _ in cell.start(inputs, B))
    outputs, last = cell.unroll(inputs, state)
    p = symbols.cell(name, cell)
    for row in range(B):
        expected = tuple(part[row].numpy() for part in state)
        assert len(expected) == reference.STATES[name]
        for step in range(T):
            expected = reference.CELLS[name](p, inputs[row, step].numpy(), expected)
            np.testing.assert_allclose(outputs[row, step].detach().numpy(), expected[0], rtol=0, atol=1e-10)
        for part, wanted in zip(last, expected, strict=True):
            np.testing.assert_allclose(part[row].detach().numpy(), wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", CELLS)
def test_cell_starts_at_zero(name):
    like = torch.ones(1, dtype=torch.float64)
    for part in make_cell(name, input_size=E, hidden_size=D).start(like, B):
        assert part.dtype == torch.float64
        assert torch.equal(part, torch.zeros(B, D, dtype=torch.float64))


def test_reset_before_and_reset_after_are_different_functions():
    before = randomise(GRUResetBefore(input_size=E, hidden_size=D).double())
    after = GRUResetAfter(input_size=E, hidden_size=D).double()
    with torch.no_grad():
        after.input.weight.copy_(before.input.weight)
        after.input.bias.copy_(before.input.bias)
        after.recurrent.weight.copy_(torch.cat([before.recurrent_gates.weight, before.recurrent.weight]))
    torch.manual_seed(3)
    x, h = torch.randn(B, E, dtype=torch.float64), torch.randn(B, D, dtype=torch.float64)
    (of_before,) = before.step(before.project(x), (h,))
    # The two update gates also mean opposite things: u takes the candidate, z keeps the state
    (of_after,) = after.step(after.project(x), (h,))
    with torch.no_grad():
        after.input.weight[D : 2 * D] *= -1
        after.input.bias[D : 2 * D] *= -1
        after.recurrent.weight[D : 2 * D] *= -1
    (of_after_same_update,) = after.step(after.project(x), (h,))
    assert (of_before - of_after).abs().max() > 1e-2
    assert (of_before - of_after_same_update).abs().max() > 1e-2
    # where there is no state to reset, they agree: nothing else differs
    zero = torch.zeros_like(h)
    (b,), (a,) = before.step(before.project(x), (zero,)), after.step(after.project(x), (zero,))
    torch.testing.assert_close(b, a, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", CELLS)
def test_language_model_follows_its_equations(name, layers):
    model = build_lm(name, layers=layers)
    tokens = torch.tensor(words([T] * B, TARGET_WORDS))
    hidden, _ = model(tokens, model.zero_state(B))
    unrolled = torch.log_softmax(model.output(hidden), dim=-1)
    stepped, _ = step_by_step(model, tokens, model.zero_state(B))
    p = [symbols.cell(name, layer) for layer in model.layers]
    embeddings, weight, bias = (
        symbols.array(x) for x in (model.embedding.weight, model.output.weight, model.output.bias)
    )
    for row in range(B):
        states = [(np.zeros(D),) * reference.STATES[name] for _ in range(layers)]
        for step in range(T):
            x = embeddings[tokens[row, step]]
            for layer in range(layers):
                states[layer] = reference.CELLS[name](p[layer], x, states[layer])
                x = states[layer][0]
            expected = reference.log_softmax(weight @ x + bias)
            for found in (unrolled, stepped):
                np.testing.assert_allclose(found[row, step].detach().numpy(), expected, rtol=0, atol=1e-10)
