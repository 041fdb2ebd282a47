"""Gradients: right numerically, present everywhere, and the same for the unrolled and the repeated step."""

import pytest
import torch
from support.small_models import (
    CELLS,
    SOURCE_WORDS,
    TARGET_WORDS,
    B,
    D,
    E,
    S,
    T,
    build,
    pad,
    randomise,
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


@pytest.mark.parametrize("name", CELLS)
def test_cell_gradients_are_right(name):
    cell = make_cell(name, input_size=3, hidden_size=2)
    state = [normal(2, 2, seed=18 + part) for part in range(len(cell.start(torch.zeros(1), 1)))]

    def run(cell, inputs, *state):
        outputs, last = cell.unroll(inputs, state)
        return (outputs, *last)

    assert gradients_are_right(cell, run, normal(2, 2, 3), *state)


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


def test_forward_keeps_only_the_positions_that_count():
    model = build(seed=29)
    source, lengths = pad(words([3, S], SOURCE_WORDS))
    target_in = torch.tensor(words([T] * B, TARGET_WORDS))
    counted = torch.tensor([[True, False, False], [True, True, True]])
    everything, _ = model(source, lengths, target_in, torch.ones_like(counted))
    some, weights = model(source, lengths, target_in, counted)
    torch.testing.assert_close(some, everything.unflatten(0, (B, T))[counted], rtol=0, atol=1e-12)
    assert weights.shape == (B, T, S)
