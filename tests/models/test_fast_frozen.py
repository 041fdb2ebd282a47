"""Linear layers with weights packed for the time of a search give their own products, and are themselves afterwards."""

import threading
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from unrolled.models.fast.frozen import FrozenLinear, frozen, narrowed
from unrolled.models.fast.int8 import QuantizedProduct, levels
from unrolled.models.fast.products import packs


def network(seed=70):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(7, 40), nn.Tanh(), nn.Linear(40, 33, bias=False), nn.Linear(33, 1))


def replaced(model):
    return [layer for layer in model if "forward" in vars(layer)]


@pytest.mark.skipif(not packs(torch.float32), reason="this torch cannot pack weights here")
@pytest.mark.parametrize("shape", [(5, 7), (1, 7), (2, 3, 7)])
def test_the_same_products_within_and_nothing_left_behind(shape):
    model, x = network(), torch.randn(shape)
    expected = model(x).detach()
    with torch.inference_mode(), frozen([model]):
        assert replaced(model) == [model[0], model[2]]
        torch.testing.assert_close(model(x), expected)
    assert replaced(model) == []
    with torch.no_grad():
        model[0].weight.mul_(2)
    with torch.inference_mode():
        changed = model(x)
        assert not torch.allclose(changed, expected)
        with frozen([model]):
            torch.testing.assert_close(model(x), changed)


@pytest.mark.skipif(not packs(torch.bfloat16), reason="this torch cannot pack bf16 weights here")
def test_autocast_lowers_frozen_products_as_it_does_others():
    model, x = network(), torch.randn(4, 7)
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        expected = model(x)
        with frozen([model]):
            assert isinstance(model[0].forward, FrozenLinear)
            found = model(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)


def test_layers_are_restored_after_an_error_and_float64_is_left_alone():
    model = network()
    with pytest.raises(ZeroDivisionError), frozen([model]):
        raise ZeroDivisionError
    assert replaced(model) == []
    with frozen([model.double()]):
        assert replaced(model) == []


@pytest.mark.skipif(levels() is None, reason="this torch has no products of 8-bit integers here")
def test_products_of_integers_are_taken_where_asked_and_stay_within():
    model, x = network(), torch.randn(5, 7)
    exact = model(x).detach()
    with torch.inference_mode(), frozen([model], int8=True), frozen([model]):
        assert all(isinstance(layer.forward._packed, QuantizedProduct) for layer in replaced(model))
        assert len(replaced(model)) == 2
        near = model(x)
    assert not torch.equal(near, exact)
    torch.testing.assert_close(near, exact, atol=0.05, rtol=0.05)
    assert replaced(model) == []


@pytest.mark.parametrize("int8", [False, True])
def test_narrowed_layers_compute_some_outputs_in_any_order(int8):
    model, x = network(), torch.randn(5, 7)
    exact, outputs = model[0](x).detach(), torch.tensor([3, 0, 39])
    for within in (nullcontext(), frozen([model], int8=int8)):
        with torch.inference_mode(), within:
            before = vars(model[0]).get("forward")
            with narrowed([model[0]], outputs, int8=int8):
                torch.testing.assert_close(model[0](x), exact[:, outputs], atol=0.05 if int8 else 1e-6, rtol=0.01)
            assert vars(model[0]).get("forward") is before


def test_threads_take_turns_with_a_model():
    model, x = network(), torch.randn(5, 7)
    expected, problems = model(x).detach(), []

    def search():
        try:
            for _ in range(40):
                with torch.inference_mode(), frozen([model, network()]):
                    torch.testing.assert_close(model(x), expected)
        except Exception as problem:  # of any kind, in another thread
            problems.append(problem)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert replaced(model) == []
