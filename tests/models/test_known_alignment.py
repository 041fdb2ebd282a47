"""Contexts read from a known alignment: the slide's a_ij = 1, in every decoder and attention, by both unrolls."""

import numpy as np
import pytest
import torch
from support import reference_equations as reference
from support import symbols
from support.small_models import COMBINATIONS, IDS, B, E, S, T, build, sizes_for

from unrolled.models.known_alignment import given_contexts

LENGTHS = [3, S]
ATTENDING = [(combination, name) for combination, name in zip(COMBINATIONS, IDS) if combination[1] != "none"]
every = pytest.mark.parametrize(
    ("name", "attention", "cell"), [c for c, _ in ATTENDING], ids=[name for _, name in ATTENDING]
)

KNOWN = torch.zeros(B, T, S, dtype=torch.float64)
KNOWN[0, 0, 2] = 1
KNOWN[0, 2, [0, 1]] = 0.5
KNOWN[1, 1, 4] = 1
KNOWN[1, 2, [1, 2, 4]] = 1 / 3


def inputs(attention, seed=12):
    generator = torch.Generator().manual_seed(seed)
    annotations = torch.randn(B, S, 2 * sizes_for(attention)[1], dtype=torch.float64, generator=generator)
    embeddings = torch.randn(B, T, E, dtype=torch.float64, generator=generator)
    return annotations, embeddings, torch.arange(S) < torch.tensor(LENGTHS).unsqueeze(1)


def replacing(attend, known):
    """The reference's attention, whose context at step i is sum_j a_ij h_j where word i has links."""
    rows = iter(known)

    def attention(s, annotations, memory):
        c, alpha, memory = attend(s, annotations, memory)
        a = next(rows)
        if a.any():
            c = sum(a_j * h_j for a_j, h_j in zip(a, annotations))
        return c, alpha, memory

    return attention


@every
def test_contexts_of_linked_words_are_read_from_the_known_alignment(name, attention, cell):
    symbols.require_equations(attention, name)
    decoder = build(name, attention, cell, seed=11).decoder
    annotations, embeddings, valid = inputs(attention)
    state = decoder.start(annotations, valid)
    (states, contexts), weights = decoder.unroll(embeddings, state, given_contexts(KNOWN, annotations))
    p = symbols.decoder(name, decoder, attention, cell)
    for row, length in enumerate(LENGTHS):
        changed = p | {"attention": replacing(p["attention"], KNOWN[row, :, :length].numpy())}
        real = list(annotations[row, :length].numpy())
        steps = reference.DECODERS[name](changed, real, list(embeddings[row].numpy()))
        for step, (s, c, alpha) in enumerate(steps):
            np.testing.assert_allclose(states[row, step].detach().numpy(), s, rtol=0, atol=1e-10)
            np.testing.assert_allclose(contexts[row, step].detach().numpy(), c, rtol=0, atol=1e-10)
            np.testing.assert_allclose(weights[row, step, :length].detach().numpy(), alpha, rtol=0, atol=1e-10)


@every
def test_both_unrolls_agree_in_all_gradients(name, attention, cell):
    decoder = build(name, attention, cell, seed=11).decoder
    found = []
    for unroll in (decoder.unroll, decoder.unroll_plainly):
        annotations, embeddings, valid = inputs(attention)
        annotations.requires_grad_()
        embeddings.requires_grad_()
        given = given_contexts(KNOWN, annotations)
        (states, contexts), weights = unroll(embeddings, decoder.start(annotations, valid), given)
        loss = states.sin().sum() + contexts.square().sum() + (weights * torch.arange(S)).square().sum()
        found.append(torch.autograd.grad(loss, [annotations, embeddings, *decoder.parameters()]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("attention", ["bahdanau", "gru_att", "coverage"])  # a sample; the two unrolls above: all
def test_gradients_are_those_of_finite_differences(attention):
    decoder = build("cgru", attention, seed=11).decoder
    _, embeddings, valid = inputs(attention)

    def function(annotations):
        given = given_contexts(KNOWN, annotations)
        (states, contexts), weights = decoder.unroll(embeddings, decoder.start(annotations, valid), given)
        return states, contexts, weights

    assert torch.autograd.gradcheck(function, (inputs(attention)[0].requires_grad_(),))


def test_where_all_words_are_linked_the_loss_asks_nothing_of_the_attention():
    decoder = build("cgru", "bahdanau", seed=11).decoder
    annotations, embeddings, valid = inputs("bahdanau")
    known = torch.zeros(B, T, S, dtype=torch.float64)
    known[..., 1] = 1
    (states, contexts), _ = decoder.unroll(
        embeddings, decoder.start(annotations, valid), given_contexts(known, annotations)
    )
    torch.testing.assert_close(contexts, annotations[:, 1:2].expand_as(contexts))
    gradients = torch.autograd.grad(states.sum(), list(decoder.attention.parameters()), materialize_grads=True)
    assert all(torch.all(gradient == 0) for gradient in gradients)


def test_a_known_alignment_of_nothing_changes_nothing():
    decoder = build("bahdanau", "gru_att", seed=11).decoder
    annotations, embeddings, valid = inputs("gru_att")
    given = given_contexts(torch.zeros_like(KNOWN), annotations)
    with_it = decoder.unroll(embeddings, decoder.start(annotations, valid), given)
    without = decoder.unroll(embeddings, decoder.start(annotations, valid))
    for one, other in zip((*with_it[0], with_it[1]), (*without[0], without[1]), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
