"""Omega against the paper's formula written out, and against finite differences."""

from functools import partial

import pytest
import torch
from support.small_models import CELLS, TARGET_WORDS, B, D, E, build, build_lm, randomise, words

from unrolled.data.batch import make_batch
from unrolled.errors import UserError
from unrolled.models.cells import make_cell
from unrolled.models.trace import Tracer
from unrolled.training.gradient_regularization import check_regularization, omega, total_omega
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.loss import token_loss
from unrolled.training.schedule import constant

BATCH = make_batch(None, words([4, 2], TARGET_WORDS), range(B))
N = 5


def normal(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def transitions(name):
    """A cell, and N transitions: inputs, states, gradients with respect to the next states."""
    cell = randomise(make_cell(name, input_size=E, hidden_size=D).double())
    parts = len(cell.start(torch.zeros(1), 1))
    x, dx = ([normal(N, D, seed=10 * which + part) for part in range(parts)] for which in (1, 2))
    return cell, normal(N, E, seed=0), tuple(x), tuple(dx)


def traced(model, batch, state):
    """total_omega of a batch, and its loss."""
    tracer = Tracer()
    hidden, _ = model(batch.target_in, state, tracer)
    counted = batch.target_out_valid
    loss = token_loss(model.output(hidden[counted]), batch.target_out[counted]).objective
    return total_omega(loss, tracer.layers), loss


def by_hand(w, u, b, inputs, x, dx_next):
    """Omega of a tanh cell: dx_{k+1}/dx_k = diag(1 - x_{k+1}^2) U."""
    total = 0
    for input_k, x_k, dx_k in zip(inputs, x, dx_next, strict=True):
        following = torch.tanh(w @ input_k + u @ x_k + b)
        back = u.T @ torch.diag(1 - following**2) @ dx_k
        total = total + (back.square().sum().sqrt() / dx_k.square().sum().sqrt() - 1) ** 2
    return total


def test_omega_of_the_naive_transition_is_the_papers_formula():
    cell, inputs, x, dx_next = transitions("tanh")
    parameters = cell.input.weight, cell.recurrent.weight, cell.input.bias
    found, expected = omega(cell, inputs, x, dx_next), by_hand(*parameters, inputs, *x, *dx_next)
    assert found.item() == pytest.approx(expected.item(), abs=1e-10)
    for one, other in zip(torch.autograd.grad(found, parameters), torch.autograd.grad(expected, parameters)):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", CELLS)
def test_omega_is_what_finite_differences_of_the_step_give(name):
    """g dx_{k+1}/dx_k, element by element: the step at x_k +- e."""
    cell, inputs, x, dx_next = transitions(name)
    projected, expected = cell.project(inputs).detach(), 0.0
    with torch.no_grad():
        back = []
        for which in range(len(x)):
            for element in range(D):
                change = torch.zeros(D, dtype=torch.float64)
                change[element] = 1e-6
                ends = [
                    cell.step(projected, tuple(p + sign * change if i == which else p for i, p in enumerate(x)))
                    for sign in (1, -1)
                ]
                back.append(sum((d * (a - b)).sum(1) for d, a, b in zip(dx_next, *ends)) / 2e-6)
        ratio = torch.stack(back).norm(dim=0) / torch.cat(dx_next, dim=1).norm(dim=1)
        expected = ((ratio - 1) ** 2).sum().item()
    assert omega(cell, inputs, x, dx_next).item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("name", CELLS)
def test_the_immediate_derivative_is_that_of_finite_differences(name):
    """With respect to U, W and b, while x_k and dE/dx_{k+1} stay."""
    cell, inputs, x, dx_next = transitions(name)
    names, parameters = zip(*cell.named_parameters(), strict=True)
    assert len(names) >= 3
    found = torch.autograd.grad(omega(cell, inputs, x, dx_next), parameters)
    for parameter, gradient in zip(parameters, found, strict=True):
        flat = parameter.data.view(-1)
        for place in range(0, len(flat), max(1, len(flat) // 7)):
            at, ends = flat[place].item(), []
            for change in (1e-5, -1e-5):
                flat[place] = at + change
                ends.append(omega(cell, inputs, x, dx_next).item())
            flat[place] = at
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(gradient.view(-1)[place].item(), abs=1e-7)


@pytest.mark.parametrize("carried", [False, True], ids=["from zeros", "carried"])
def test_omega_of_a_model_is_the_papers_formula(carried):
    """dE/dx_k by hand too: dE/dx_k = R^T (p - 1[word]) + U^T diag(1 - x_{k+1}^2) dE/dx_{k+1}."""
    model = build_lm("tanh", layers=1)
    start = normal(B, D, seed=3) if carried else torch.zeros(B, D, dtype=torch.float64)
    found, _ = traced(model, BATCH, ((start,),))
    (cell,), output = model.cells(), model.output
    w, u, b = cell.input.weight, cell.recurrent.weight, cell.input.bias
    expected = 0.0
    for row, length in enumerate(BATCH.target_lengths - 1):
        x, inputs, errors = [start[row]], [], []
        for word, following in zip(BATCH.target_in[row, :length], BATCH.target_out[row, :length], strict=True):
            inputs.append(model.embedding.weight[word])
            x.append(torch.tanh(w @ inputs[-1] + u @ x[-1] + b))
            p = torch.softmax(output.weight @ x[-1] + output.bias, dim=0)
            p[following] -= 1
            errors.append(output.weight.T @ p)
        dx = errors[-1]
        for k in range(int(length) - 1, -1, -1):
            expected += by_hand(w, u, b, [inputs[k]], [x[k]], [dx]).item()
            if k:
                dx = errors[k - 1] + u.T @ ((1 - x[k + 1] ** 2) * dx)
    assert found.item() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("cell", CELLS)
def test_omega_is_a_sum_over_sentences_whatever_the_padding(cell):
    model = build_lm(cell)
    together, _ = traced(model, BATCH, model.zero_state(B))
    alone = 0.0
    for row in words([4, 2], TARGET_WORDS):
        found, _ = traced(model, make_batch(None, [row], [0]), model.zero_state(1))
        alone += found.item()
    assert together.item() == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize("cell", CELLS)
def test_omega_reaches_the_parameters_of_all_layers_and_no_others(cell):
    model = build_lm(cell, layers=2)
    found, _ = traced(model, BATCH, model.zero_state(B))
    gradients = torch.autograd.grad(found, list(model.parameters()), allow_unused=True)
    reached = {name for (name, _), d in zip(model.named_parameters(), gradients) if d is not None and d.abs().max() > 0}
    assert reached == {name for name, _ in model.named_parameters() if name.startswith("layers.")}


def test_a_matrix_that_keeps_norms_has_omega_zero():
    """U orthogonal, units far from saturation: what comes back is as long as what was sent."""
    cell, inputs, x, dx_next = transitions("tanh")
    with torch.no_grad():
        torch.nn.init.orthogonal_(cell.recurrent.weight)
        small = 1e-6
    found = omega(cell, inputs * small, (x[0] * small,), dx_next)
    with torch.no_grad():
        cell.input.bias.zero_()
    exact = omega(cell, inputs * small, (x[0] * small,), dx_next)
    assert exact.item() < 1e-15 < found.item()


def test_an_error_that_vanished_has_no_omega():
    """No gradient comes back to the first states: neither NaN nor a term."""
    model = build_lm("tanh", layers=1).float()
    with torch.no_grad():
        model.output.weight.zero_()  # so no error reaches any state
    found, _ = traced(model, BATCH, model.zero_state(B))
    assert found.item() == 0
    assert not found.requires_grad or torch.isfinite(torch.autograd.grad(found, model.cells()[0].input.bias)[0]).all()


def module(weight, cell="gru", **options):
    return LanguageModeling(
        model=build_lm(cell, **options),
        optimizer=partial(torch.optim.SGD, lr=1.0),
        schedule=constant,
        label_smoothing=0.0,
        monitor="val/loss",
        mode="min",
        gradient_regularization=weight,
    )


def test_the_loss_term_is_the_weighted_sum_and_training_only(monkeypatch):
    plain, regularized = module(0.0), module(0.25)
    monkeypatch.setattr(LanguageModeling, "log", lambda *_, **__: None)
    expected, _ = traced(plain.model, BATCH, plain.model.zero_state(B))
    one, other = plain.loss(BATCH), regularized.loss(BATCH)
    assert (other.objective - one.objective).item() == pytest.approx(0.25 * expected.item(), abs=1e-10)
    assert other.negative_log_likelihood.item() == pytest.approx(one.negative_log_likelihood.item(), abs=1e-10)
    assert regularized.eval().loss(BATCH).objective.item() == pytest.approx(one.objective.item(), abs=1e-10)


@pytest.mark.parametrize("cell", CELLS)
def test_dropout_is_drawn_as_without_the_regulariser(cell, monkeypatch):
    """So that runs with and without differ in the term alone."""
    monkeypatch.setattr(LanguageModeling, "log", lambda *_, **__: None)
    found = []
    for weight in (0.0, 1.0):
        torch.manual_seed(5)
        found.append(module(weight, cell, dropout=0.3).loss(BATCH).negative_log_likelihood.item())
    assert found[0] == pytest.approx(found[1], abs=1e-10)


@pytest.mark.parametrize("weight", [-1, float("inf"), float("nan"), "much"])
def test_a_weight_that_makes_no_sense_is_refused(weight):
    with pytest.raises(UserError, match=r"objective\.gradient_regularization="):
        check_regularization(weight, build_lm())


def test_a_model_without_recurrence_of_its_own_is_refused():
    with pytest.raises(UserError, match="use model=rnn_lm"):
        check_regularization(0.1, build())
    check_regularization(0.0, build())
