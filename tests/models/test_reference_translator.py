"""Encoder, decoders, readouts and whole translators against the equations, on unequal lengths."""

import numpy as np
import pytest
import torch
from support import reference_equations as reference
from support import symbols
from support.small_models import (
    COMBINATIONS,
    ENCODER,
    IDS,
    PARTS,
    SOURCE_WORDS,
    TARGET_WORDS,
    B,
    D,
    E,
    S,
    T,
    batch_of,
    build,
    fed,
    randomise,
    sizes_for,
    step_by_step,
    teacher_forced,
    words,
)

from unrolled.models.encoder import BidirectionalGRU, BidirectionalGRUResetBefore, mean_annotation

LENGTHS = [3, S]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("variant", [BidirectionalGRU, BidirectionalGRUResetBefore])
def test_encoder_follows_its_equations(variant, layers):
    encoder = randomise(variant(embedding_size=E, size=ENCODER, layers=layers).double())
    torch.manual_seed(9)
    embeddings = torch.randn(B, S, E, dtype=torch.float64)
    annotations = encoder(embeddings, torch.tensor(LENGTHS)).detach().numpy()
    for row, length in enumerate(LENGTHS):
        expected = symbols.encode(encoder, list(embeddings[row, :length].numpy()))
        np.testing.assert_allclose(annotations[row, :length], expected, rtol=0, atol=1e-10)
        assert np.all(annotations[row, length:] == 0)


def test_mean_annotation_is_the_mean_of_the_real_positions():
    torch.manual_seed(10)
    annotations = torch.randn(B, S, D, dtype=torch.float64)
    valid = torch.arange(S) < torch.tensor(LENGTHS).unsqueeze(1)
    found = mean_annotation(annotations, valid).numpy()
    for row, length in enumerate(LENGTHS):
        np.testing.assert_allclose(found[row], annotations[row, :length].numpy().mean(axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_decoder_follows_its_equations(name, attention, cell):
    symbols.require_equations(attention, name)
    decoder = build(name, attention, cell, seed=11).decoder
    annotation_size = 2 * sizes_for(attention)[1]
    torch.manual_seed(12)
    annotations = torch.randn(B, S, annotation_size, dtype=torch.float64)
    embeddings = torch.randn(B, T, E, dtype=torch.float64)
    valid = torch.arange(S) < torch.tensor(LENGTHS).unsqueeze(1)
    (states, contexts), weights = decoder.unroll(embeddings, decoder.start(annotations, valid))
    p = symbols.decoder(name, decoder, attention, cell)
    for row, length in enumerate(LENGTHS):
        real = list(annotations[row, :length].numpy())
        steps = reference.DECODERS[name](p, real, list(embeddings[row].numpy()))
        for step, (s, c, alpha) in enumerate(steps):
            np.testing.assert_allclose(states[row, step].detach().numpy(), s, rtol=0, atol=1e-10)
            np.testing.assert_allclose(contexts[row, step].detach().numpy(), c, rtol=0, atol=1e-10)
            np.testing.assert_allclose(weights[row, step, :length].detach().numpy(), alpha, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", PARTS)
def test_readout_follows_its_equations(name):
    symbols.require_equations("none", name)
    sizes = {"state_size": D, "annotation_size": 2 * ENCODER, "embedding_size": E, "vocabulary_size": TARGET_WORDS}
    readout = PARTS[name]["readout"](**sizes)
    randomise(readout.double(), seed=13)
    torch.manual_seed(14)
    s, c, y = (torch.randn(B, T, size, dtype=torch.float64) for size in (D, 2 * ENCODER, E))
    hidden = readout.hidden((s, c), y)
    logits = readout.output(hidden).detach().numpy()
    p = symbols.readout(name, readout)
    for place in np.ndindex(B, T):
        expected = reference.READOUTS[name](p, s[place].numpy(), c[place].numpy(), y[place].numpy())
        np.testing.assert_allclose(hidden[place].detach().numpy(), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(logits[place], p["W_out"] @ expected + p["b_out"], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_translator_follows_its_equations_both_ways(name, attention, cell):
    symbols.require_equations(attention, name)
    check_translator(build(name, attention, cell, seed=15, encoder_layers=2), name, attention, cell)


@pytest.mark.parametrize(("attention", "cell"), [("bahdanau", "gru"), ("gru_att", "lstm")])
def test_input_feeding_follows_its_equations_both_ways(attention, cell):
    check_translator(build("bahdanau", attention, cell, seed=15, decoder=fed(cell)), "bahdanau", attention, cell)


def check_translator(model, name, attention, cell):
    model.eval()
    sources, targets = words(LENGTHS, SOURCE_WORDS), words([T] * B, TARGET_WORDS)
    forced, weights = teacher_forced(model, sources, targets)
    stepped, _ = step_by_step(model, torch.tensor(targets), model.start(batch_of(sources)))
    assert torch.allclose(forced, stepped, rtol=0, atol=1e-12)
    for row, length in enumerate(LENGTHS):
        log_probs, alpha = symbols.translate(model, name, attention, cell, sources[row], targets[row])
        np.testing.assert_allclose(forced[row].detach().numpy(), log_probs, rtol=0, atol=1e-10)
        np.testing.assert_allclose(weights[row, :, :length].detach().numpy(), alpha, rtol=0, atol=1e-10)
