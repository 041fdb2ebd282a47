"""Bengio's model against its equation (1) in NumPy; word by word as in one go."""

import numpy as np
import pytest
import torch
from support.reference_equations import log_softmax
from support.small_models import TARGET_WORDS, D, E, randomise, words
from torch.autograd import gradcheck

from unrolled.errors import UserError
from unrolled.models.feedforward_lm import feedforward_lm

BOS, T = 1, 6


def build(order=3, direct=True, seed=0, **changes):
    options = {"source_vocabulary": None, "target_vocabulary": TARGET_WORDS, "attention": None}
    options |= {"embedding_size": E, "hidden_size": D, "dropout": 0.0}
    return randomise(feedforward_lm(order=order, direct=direct, **options | changes).double(), seed)


def by_hand(model, sentence):
    """log p of the next word after each of <s> x_1 ... x_T, ``(T + 1, V)``."""
    p = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    history, rows = [BOS] * (model.order - 1), []
    for word in [*sentence, None]:
        x = np.concatenate([p["embedding.weight"][before] for before in reversed(history)])
        hidden = np.tanh(p["hidden.bias"] + p["hidden.weight"] @ x)
        y = p["output.bias"] + p["output.weight"][:, :D] @ hidden  # b + U tanh(d + H x)
        if model.direct:
            y = y + p["output.weight"][:, D:] @ x  # W x
        rows.append(log_softmax(y))
        history = [*history[1:], word]
    return np.stack(rows)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("order", [2, 3, 5])
@torch.no_grad()
def test_agrees_with_the_equation_and_word_by_word(order, direct):
    model = build(order, direct)
    sentences = words([T, T], TARGET_WORDS)
    read = torch.tensor([[BOS, *sentence] for sentence in sentences])
    hidden, last = model(read, model.zero_state(2))
    found = model.output(hidden).log_softmax(dim=-1)
    for row, sentence in zip(found.numpy(), sentences, strict=True):
        np.testing.assert_allclose(row, by_hand(model, sentence), rtol=0, atol=1e-10)
    state = model.zero_state(2)
    for place in range(T + 1):
        log_probs, state = model.step(read[:, place], state)
        torch.testing.assert_close(log_probs, found[:, place], rtol=0, atol=1e-10)
    assert torch.equal(state[0], last[0])


@pytest.mark.parametrize("direct", [False, True])
def test_gradients(direct):
    model = build(3, direct)
    names, parameters = zip(*model.named_parameters(), strict=True)
    read = torch.tensor([[BOS, 4, 5, 4], [BOS, 7, 8, 9]])

    def run(*values):
        hidden, _ = torch.func.functional_call(model, dict(zip(names, values)), (read, model.zero_state(2)))
        weight = values[names.index("output.weight")]
        return (hidden @ weight.t()).log_softmax(dim=-1)

    assert gradcheck(run, parameters)


@torch.no_grad()
def test_a_word_beyond_the_order_changes_nothing_and_one_within_does():
    model = build(order=3)
    first, _ = model(torch.tensor([[BOS, 4, 5, 6]]), model.zero_state(1))
    beyond, _ = model(torch.tensor([[BOS, 9, 5, 6]]), model.zero_state(1))
    within, _ = model(torch.tensor([[BOS, 4, 9, 6]]), model.zero_state(1))
    assert torch.equal(first[0, 3], beyond[0, 3])
    assert not torch.allclose(first[0, 3], within[0, 3])


def test_dropout_reaches_the_hidden_layer_in_training_alone():
    model, read = build(dropout=0.5), torch.tensor([[BOS, 4, 5]])
    state = model.zero_state(1)
    assert torch.equal(model.eval()(read, state)[0], build()(read, state)[0])
    hidden = model.train()(read, state)[0]
    assert 0 < (hidden[..., :D] == 0).sum() < hidden[..., :D].numel()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"order": 1}, "order=1"), ({"order": "x"}, "order=x"), ({"attention": object()}, "attention")],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        build(**changes)
