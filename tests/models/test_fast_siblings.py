"""One product for all hypotheses that continue the same one: equal log-probabilities, fewer rows, nothing left."""

from itertools import chain

import pytest
import torch
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, TARGET_WORDS, batch_of, build, words
from torch import nn

from unrolled.models.fast import siblings as module
from unrolled.models.fast.frozen import frozen
from unrolled.models.fast.siblings import siblings
from unrolled.search.beam import beam_search
from unrolled.search.generator import select
from unrolled.search.length import PerToken

ROWS = torch.tensor([1, 0, 1, 5, 5, 5])
"""Of two sentences with three hypotheses each: three of these have no continuation."""


@pytest.fixture(autouse=True)
def _any_size_pays(monkeypatch):
    monkeypatch.setattr(module, "COPIED", 0)


def second_step(model, same=None):
    """Log-probabilities ``(6, V)`` of the step after the first branching, and the state ``(6, D)``."""
    batch, sentences = batch_of(words((4, 2), SOURCE_WORDS, seed=3)), torch.arange(2)
    state = select(model.start(batch), torch.tensor([0, 0, 0, 1, 1, 1]), sentences)
    _, state = model.step(torch.tensor(words([6], TARGET_WORDS, seed=4)[0]), state)
    state = select(state, ROWS, sentences)
    if same is not None:
        same.renew(ROWS, state)
    log_probs, state = model.step(torch.tensor(words([6], TARGET_WORDS, seed=6)[0]), state)
    return log_probs.clone(), model.decoder.recurrent(state)


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
def test_the_same_log_probabilities_and_states(combination, monkeypatch):
    model = build(*combination, seed=5).eval()
    smaller = []
    product = module.Siblings.product

    def counting(self, layer, layer_product, x):
        return product(self, layer, lambda rows: (smaller.append(len(rows) < len(x)), layer_product(rows))[1], x)

    monkeypatch.setattr(module.Siblings, "product", counting)
    with torch.inference_mode():
        expected = second_step(model)
        with siblings([model]) as same:
            found = second_step(model, same)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert any(smaller)


def test_only_tensors_of_the_state_have_equal_rows():
    layer, state, other = nn.Linear(3, 2), torch.randn(3, 3), torch.randn(3, 3)
    seen = []
    layer.forward = lambda x: (seen.append(len(x)), nn.functional.linear(x, layer.weight, layer.bias))[1]
    with siblings([layer]) as same:
        layer(state)
        same.renew(torch.tensor([2, 0, 2]), (select(state, torch.tensor([2, 0, 2])),))
        layer(other)
        chosen = select(state, torch.tensor([2, 0, 2]))
        same.renew(torch.tensor([2, 0, 2]), ((chosen,),))
        torch.testing.assert_close(layer(chosen), nn.functional.linear(chosen, layer.weight, layer.bias))
        layer(chosen[:])  # another tensor of the same numbers
        same.renew(torch.tensor([2, 0, 1]), (chosen,))
        layer(chosen)  # no two are known to be equal
        same.renew(torch.tensor([], dtype=torch.int64), ())
        layer(chosen)
    assert seen == [3, 3, 2, 3, 3, 3]
    assert "forward" in vars(layer)


def test_small_layers_multiply_all_rows(monkeypatch):
    monkeypatch.setattr(module, "COPIED", 64)
    model = build(seed=5).eval()
    with torch.inference_mode(), siblings([model]) as same:
        expected = second_step(model)
        assert all(torch.equal(*pair) for pair in zip(second_step(model, same)[1], expected[1], strict=True))


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
def test_the_same_beam(combination, monkeypatch):
    model = build(*combination, seed=7).eval()
    batch, most = batch_of(words((4, 2, 5), SOURCE_WORDS, seed=3)), torch.tensor([9, 9, 9])
    options = {"beam_size": 4, "max_lengths": most, "min_lengths": most, "score": PerToken(), "nbest": 4}
    found = beam_search(model, batch, **options)
    monkeypatch.setattr(module.Siblings, "renew", lambda *_: None)
    expected = beam_search(model, batch, **options)
    assert [[each.tokens for each in row] for row in found] == [[each.tokens for each in row] for row in expected]
    for one, other in zip(chain(*found), chain(*expected), strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-10)


def test_frozen_layers_stay_frozen_and_nothing_is_left_after_an_error():
    model = build(seed=5).eval()

    def replaced():
        return {part for part in model.modules() if "forward" in vars(part)}

    with frozen([model]):
        before = {part: part.forward for part in replaced()}
        with pytest.raises(ZeroDivisionError), siblings([model]):
            raise ZeroDivisionError
        assert {part: part.forward for part in replaced()} == before
    assert replaced() == set()
