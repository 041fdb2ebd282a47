"""In bfloat16 on a CPU products over whole sequences have few different numbers of rows, and the same values."""

import pytest
import torch
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, TARGET_WORDS, build, pad, words
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from unrolled.models.fast import linear as linear_layers
from unrolled.models.fast import products, rows
from unrolled.models.fast.linear import linear, rounding
from unrolled.models.fast.products import weight_gradient
from unrolled.models.fast.rows import rounded_up
from unrolled.training.linear_loss import linear_token_loss

SENTENCES, WORDS = 20, 14  # 280 positions
PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.addmm)


class Rows(TorchDispatchMode):
    """Notes the sizes of matrix products that come from numbers of positions, not from a weight."""

    def __init__(self):
        super().__init__()
        self.sizes = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in PRODUCTS:
            self.sizes |= {size for x in args[-2:] for size in x.shape if size >= rows.FEWEST}
        return function(*args, **(kwargs or {}))


def low():
    return torch.autocast("cpu", dtype=torch.bfloat16)


def training_step(model, rounded):
    """Sizes of its products, loss, gradients."""
    source, lengths = pad(words([WORDS] * SENTENCES, SOURCE_WORDS, seed=3))
    target = torch.tensor(words([WORDS] * SENTENCES, TARGET_WORDS, seed=4))
    counted = torch.ones(target.shape, dtype=torch.bool)
    model.zero_grad()
    torch.manual_seed(7)  # dropout
    with Rows() as products, low():
        with rounding(model if rounded else nn.Identity()):
            hidden, _ = model(source, lengths, target, counted)
            loss = linear_token_loss(hidden, model.readout.output, target.flatten()).objective
        loss.backward()
    return products.sizes, [loss.detach(), *(weight.grad for weight in model.parameters())]


@pytest.mark.parametrize("model", ["bahdanau", "cgru", "rnnsearch"])
def test_a_training_step_in_bfloat16_has_few_numbers_of_rows(model):
    sizes, _ = training_step(build(model, "gru_att", "gru", seed=5).float().train(), rounded=True)
    assert sizes
    assert {size % rows.MULTIPLE for size in sizes} == {0}


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
def test_the_same_loss_and_gradients(combination, monkeypatch):
    model = build(*combination, seed=5).train()  # float64: no other rounding
    sizes, expected = training_step(model, rounded=False)
    assert {size % rows.MULTIPLE for size in sizes} != {0}
    for module in (rows, linear_layers, products):
        monkeypatch.setattr(module, "compiled", lambda *_: True)
    sizes, values = training_step(model, rounded=True)
    assert {size % rows.MULTIPLE for size in sizes} == {0}
    for value, other in zip(values, expected, strict=True):
        torch.testing.assert_close(value, other, rtol=1e-10, atol=1e-12)
    assert not any("forward" in vars(layer) for layer in model.modules())


@pytest.mark.parametrize("shape", [(300, 5), (20, 15, 5), (256, 5), (255, 5), (2, 3, 5)])
def test_the_same_products_and_gradients(shape):
    generator = torch.Generator().manual_seed(3)
    x, weight, bias = (torch.randn(size, generator=generator) for size in (shape, (7, 5), (7,)))
    for inputs in (x, x.transpose(0, -2)):
        results = []
        for product in (functional.linear, linear):
            leaves = [tensor.clone().requires_grad_() for tensor in (inputs, weight, bias)]
            with low():
                y = product(*leaves)
            (y.float() * torch.arange(y.numel()).view(y.shape).remainder(5)).sum().backward()
            results.append([y, *(leaf.grad for leaf in leaves)])
        for found, expected in zip(*reversed(results), strict=True):
            assert found.shape == expected.shape
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found.float(), expected.float(), rtol=0.02, atol=0.02)


def test_only_many_rows_of_bfloat16_are_rounded_up(monkeypatch):
    many = torch.ones(300, 2)
    assert rounded_up(many) is many
    assert rounded_up(many[:200].bfloat16()).shape == (200, 2)
    assert rounded_up(many[:256].bfloat16()).shape == (256, 2)
    rounded = rounded_up(many.bfloat16())
    assert rounded.shape == (320, 2)
    assert (rounded[:300] == 1).all()
    assert (rounded[300:] == 0).all()
    assert rounded_up(torch.ones(300, 2, dtype=torch.bfloat16, device="meta")).shape == (300, 2)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False, raising=False)
    assert rounded_up(many.bfloat16()).shape == (300, 2)


def test_weight_gradients_are_sums_over_all_steps():
    generator = torch.Generator().manual_seed(4)
    dy, x = torch.randn(30, 11, 3, generator=generator), torch.randn(30, 11, 2, generator=generator)
    expected = torch.einsum("tbo,tbi->oi", dy.double(), x.double())
    torch.testing.assert_close(weight_gradient(dy, x, torch.float32).double(), expected, rtol=1e-4, atol=1e-4)
    found = weight_gradient(dy, x, torch.bfloat16)
    assert found.dtype == torch.float32
    assert (found - expected).norm() < 0.02 * expected.norm()


def test_layers_are_themselves_again_after_a_failure():
    layer = nn.Linear(2, 3)
    with low(), rounding(layer):
        assert layer(torch.ones(300, 2)).shape == (300, 3)
        assert "forward" in vars(layer)
    assert "forward" not in vars(layer)
    with pytest.raises(RuntimeError, match="shapes"), low(), rounding(layer):
        layer(torch.ones(300, 5))
    assert "forward" not in vars(layer)
    with rounding(layer):  # float32
        assert "forward" not in vars(layer)
