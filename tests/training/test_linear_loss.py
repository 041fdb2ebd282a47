"""The chunked loss equals its definition, ``token_loss(output(hidden), words)``, in value and every gradient."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unrolled.training import linear_loss
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.loss import token_loss

N, R, V = 11, 5, 7


def definition(hidden, output, words, label_smoothing=0.0):
    return token_loss(output(hidden), words, label_smoothing)


def problem(n=N, size=R, vocabulary=V, *, bias=True, scale=1.0, seed=0, dtype=torch.float64):
    """hidden, output, words: random."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    output = nn.Linear(size, vocabulary, bias=bias, dtype=dtype)
    with torch.no_grad():
        for parameter in output.parameters():
            parameter.copy_(normal(*parameter.shape) * scale)
    hidden = normal(n, size).to(dtype).requires_grad_()
    return hidden, output, torch.randint(vocabulary, (n,), generator=generator)


def gradients(function, hidden, output, words, label_smoothing, factor=1.0):
    """objective, negative log-likelihood, and the gradients of ``factor`` x objective."""
    loss = function(hidden, output, words, label_smoothing)
    found = torch.autograd.grad(factor * loss.objective, (hidden, *output.parameters()))
    return loss.objective.detach(), loss.negative_log_likelihood.detach(), *found


@pytest.fixture
def three_rows_a_chunk(monkeypatch):
    monkeypatch.setattr(linear_loss, "CHUNK", {"cpu": 3 * V + 1})


@given(
    n=st.integers(0, 13),
    size=st.integers(1, 5),
    vocabulary=st.integers(1, 11),
    chunk=st.integers(1, 60),
    label_smoothing=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    bias=st.booleans(),
    scale=st.sampled_from([0.0, 1.0, 50.0]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=150)
def test_value_and_gradients_equal_the_definition(n, size, vocabulary, chunk, label_smoothing, bias, scale, seed):
    hidden, output, words = problem(n, size, vocabulary, bias=bias, scale=scale, seed=seed)
    expected = gradients(definition, hidden, output, words, label_smoothing, factor=0.3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_loss, "CHUNK", {"cpu": chunk})
        found = gradients(linear_token_loss, hidden, output, words, label_smoothing, factor=0.3)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("three_rows_a_chunk")
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_gradients_are_the_derivatives(label_smoothing):
    hidden, output, words = problem()

    def objective(hidden, weight, bias):
        return linear_token_loss(hidden, SimpleNamespace(weight=weight, bias=bias), words, label_smoothing).objective

    leaves = [leaf.detach().clone().requires_grad_() for leaf in (hidden, output.weight, output.bias)]
    assert torch.autograd.gradcheck(objective, leaves)


@pytest.mark.usefixtures("three_rows_a_chunk")
@pytest.mark.parametrize("frozen", ["hidden", "weight", "bias"])
def test_what_is_frozen_gets_no_gradient_and_the_rest_keeps_its_own(frozen):
    hidden, output, words = problem()
    tensors = {"hidden": hidden, "weight": output.weight, "bias": output.bias}
    expected = dict(zip(tensors, gradients(definition, hidden, output, words, 0.1)[2:]))
    tensors[frozen].requires_grad_(False)
    linear_token_loss(hidden, output, words, 0.1).objective.backward()
    for name, tensor in tensors.items():
        if name == frozen:
            assert tensor.grad is None
        else:
            torch.testing.assert_close(tensor.grad, expected[name], rtol=0, atol=1e-12)


def test_a_tied_weight_gets_the_gradients_of_both_its_uses():
    _, output, words = problem()
    embedding = nn.Embedding(V, R, dtype=torch.float64)
    embedding.weight = output.weight
    found = []
    for function in (linear_token_loss, definition):
        output.weight.grad = None
        function(embedding(words).tanh(), output, words.flip(0), 0.1).objective.backward()
        found.append(output.weight.grad)
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-12)


def test_no_words_give_zero_and_zero_gradients():
    hidden, output, words = problem(n=0)
    loss = linear_token_loss(hidden, output, words, 0.1)
    loss.objective.backward()
    assert loss.objective.item() == loss.negative_log_likelihood.item() == loss.tokens == 0
    assert hidden.grad.shape == (0, R)
    assert output.weight.grad.abs().sum() == 0


def test_backward_can_run_twice_over_a_kept_graph():
    hidden, output, words = problem()
    loss = linear_token_loss(hidden, output, words).objective
    (first,) = torch.autograd.grad(2 * loss, hidden, retain_graph=True)
    (second,) = torch.autograd.grad(2 * loss, hidden)
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_a_second_derivative_is_refused():
    hidden, output, words = problem()
    loss = linear_token_loss(hidden, output, words).objective
    with pytest.raises(RuntimeError, match="only once"):
        torch.autograd.grad(loss, hidden, create_graph=True)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_value_is_the_same_and_none_is_kept(mode):
    hidden, output, words = problem()
    with mode():
        loss = linear_token_loss(hidden, output, words, 0.1)
        expected = definition(hidden, output, words, 0.1)
    assert not loss.objective.requires_grad
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-12)


def test_large_logits_do_not_overflow():
    output = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[1e4], [-1e4]]))
    loss = linear_token_loss(torch.ones(1, 1), output, torch.tensor([1]))
    loss.objective.backward()
    assert loss.objective.item() == pytest.approx(2e4)
    assert output.weight.grad.flatten().tolist() == [1.0, -1.0]


@pytest.mark.usefixtures("three_rows_a_chunk")
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_equals_the_definition_under_autocast(dtype, label_smoothing):
    hidden, output, words = problem(dtype=torch.float32)
    found = []
    for function in (linear_token_loss, definition):
        for copy in (hidden, hidden.to(dtype)):  # what a readout gives under autocast
            leaf = copy.detach().requires_grad_()
            with torch.autocast("cpu", dtype=dtype):
                loss = function(leaf, output, words, label_smoothing)
            assert loss.objective.dtype is torch.float32
            grads = torch.autograd.grad(loss.objective, (leaf, output.weight, output.bias))
            assert [grad.dtype for grad in grads] == [leaf.dtype, torch.float32, torch.float32]
            found.append((loss.objective.detach(), *(grad.float() for grad in grads)))
    tolerance = 4 * torch.finfo(dtype).eps
    for ours, expected in zip(found[:2], found[2:]):
        torch.testing.assert_close(ours, expected, rtol=tolerance, atol=4 * tolerance)


def test_autocast_leaves_no_gradientless_copy_of_a_weight_behind():
    hidden, output, words = problem(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        linear_token_loss(hidden, output, words)
        later = output(hidden).sum()
    (gradient,) = torch.autograd.grad(later, output.weight)
    assert gradient.abs().sum() > 0


def test_float16_keeps_the_small_gradients_of_a_confident_model():
    # softmax over V words of which one has p = 1 - 2e-6: its gradient -2e-6 and a hidden vector of 0.01 make 2e-8,
    # below float16's smallest number 6e-8
    output = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[700.0], [-612.0]]))
    hidden = torch.full((1, 1), 0.01, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = linear_token_loss(hidden, output, torch.tensor([0]))
    loss.objective.backward()
    assert output.weight.grad[0].item() == pytest.approx(-2e-8, rel=0.2)


@pytest.mark.usefixtures("three_rows_a_chunk")
def test_half_precision_parameters_are_summed_in_float32():
    hidden, output, words = problem(dtype=torch.bfloat16)
    loss = linear_token_loss(hidden, output, words)
    loss.objective.backward()
    assert loss.objective.dtype is torch.float32
    assert output.weight.grad.dtype is hidden.grad.dtype is torch.bfloat16


class LargestTensor(torch.utils._python_dispatch.TorchDispatchMode):
    """The most elements that any operation gave out."""

    def __init__(self):
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        tensors = result if isinstance(result, tuple | list) else [result]
        self.elements = max([self.elements, *(t.numel() for t in tensors if isinstance(t, torch.Tensor))])
        return result


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_all_logits_of_32000_words_are_never_held(dtype):
    n, vocabulary = 2003, 32_000
    hidden, output, words = problem(n, 3, vocabulary, dtype=torch.float32)
    kept = []

    def pack(tensor):
        kept.append(tensor.numel())
        return tensor

    with LargestTensor() as largest, torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            loss = linear_token_loss(hidden, output, words, 0.1)
        loss.objective.backward()
    assert largest.elements <= linear_loss.CHUNK["cpu"] < n * vocabulary / 5
    assert sum(kept) <= hidden.numel() + output.weight.numel() + output.bias.numel()
