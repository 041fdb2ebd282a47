"""Every option changes something: an output, a gradient, a parameter or their number."""

from functools import partial

import pytest
import torch
from support.small_models import (
    ATTENTIONS,
    CELLS,
    COMBINATIONS,
    IDS,
    PARTS,
    SOURCE_WORDS,
    TARGET_WORDS,
    D,
    E,
    S,
    T,
    build,
    build_lm,
    lm_options,
    options,
    some_attention,
    teacher_forced,
    words,
)

from unrolled.models.language_model import rnn_lm
from unrolled.models.readout import LinearReadout
from unrolled.models.translator import translator


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def log_probs(model):
    return teacher_forced(model, words([3, S], SOURCE_WORDS), words([T, T], TARGET_WORDS))[0]


def lm_outputs(model):
    hidden, _ = model(torch.tensor(words([T, T], TARGET_WORDS)), model.zero_state(2))
    return model.output(hidden)


# --- sizes ------------------------------------------------------------------------------------------------------------


def gru_weights(inputs, hidden, biases):
    return 3 * hidden * (inputs + hidden + biases)


def test_parameter_count_of_the_cgru_is_what_its_equations_need():
    attention_size, c, enc = 13, 8, 4
    encoder = 2 * gru_weights(E, enc, 2)
    decoder = gru_weights(E, D, 1) + gru_weights(c, D, 1) + (c + 1) * D
    attention = attention_size * (D + c + 1 + 1)
    readout = E * (D + E + c + 1) + TARGET_WORDS * (E + 1)
    assert count(build()) == (SOURCE_WORDS + TARGET_WORDS) * E + encoder + decoder + attention + readout


@pytest.mark.parametrize(
    "change",
    [
        {"encoder_layers": 2},
        {"embedding_size": E + 1},
        {"encoder_size": 5},
        {"decoder_size": D + 1},
        {"source_vocabulary": SOURCE_WORDS + 1},
        {"target_vocabulary": TARGET_WORDS + 1},
    ],
    ids=lambda change: "-".join(change),
)
def test_sizes_change_the_number_of_parameters(change):
    assert count(build(**change)) != count(build())


@pytest.mark.parametrize(
    ("attention", "change"),
    [
        (name, {option: value + 4})
        for name, build_attention in ATTENTIONS.items()
        for option, value in build_attention.keywords.items()
        if option.endswith("size")
    ],
)
def test_attention_sizes_change_the_number_of_parameters(attention, change):
    changed = build(mechanism=attention, attention=partial(ATTENTIONS[attention], **change))
    assert count(changed) != count(build(mechanism=attention))


@pytest.mark.parametrize("change", [{"layers": 1}, {"layers": 3}, {"embedding_size": E + 1}, {"hidden_size": D + 1}])
def test_sizes_change_the_number_of_parameters_of_the_language_model(change):
    assert count(build_lm(**change)) != count(build_lm())


def test_second_encoder_layer_reads_both_directions_of_the_first():
    gru = build(encoder_layers=2).encoder.gru
    assert gru.weight_ih_l1.shape == (3 * 4, 2 * 4)
    assert gru.weight_ih_l1_reverse.shape == (3 * 4, 2 * 4)


# --- variants ---------------------------------------------------------------------------------------------------------


def test_every_model_and_attention_gives_another_distribution():
    found = [log_probs(build(*combination)).detach() for combination in COMBINATIONS]
    for i, one in enumerate(found):
        assert all((one - other).abs().max() > 1e-6 for other in found[:i]), IDS[i]


def test_every_cell_gives_another_language_model():
    found = [lm_outputs(build_lm(cell)).detach() for cell in CELLS]
    for i, one in enumerate(found):
        assert all((one - other).abs().max() > 1e-6 for other in found[:i]), CELLS[i]


# --- dropout ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["embedding_dropout", "annotation_dropout", "readout_dropout"])
@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_dropout_acts_in_training_and_only_there(name, attention, cell, option):
    plain, model = build(name, attention, cell), build(name, attention, cell, **{option: 0.5})
    torch.testing.assert_close(log_probs(model.eval()), log_probs(plain), rtol=0, atol=0)
    torch.manual_seed(35)
    first, second = log_probs(model.train()), log_probs(model)
    assert (first - second).abs().max() > 1e-6
    torch.manual_seed(35)
    torch.testing.assert_close(log_probs(model), first, rtol=0, atol=0)


def test_readout_dropout_leaves_attention_alone_and_embedding_dropout_does_not():
    targets = words([T, T], TARGET_WORDS)
    for option, same in (("readout_dropout", True), ("embedding_dropout", False), ("annotation_dropout", False)):
        model = build(**{option: 0.5}).train()
        torch.manual_seed(36)
        _, weights = teacher_forced(model, words([3, S], SOURCE_WORDS), targets)
        _, plain = teacher_forced(model.eval(), words([3, S], SOURCE_WORDS), targets)
        assert torch.equal(weights, plain) is same


def test_annotation_dropout_also_stands_between_encoder_layers():
    assert build(annotation_dropout=0.5, encoder_layers=2).encoder.gru.dropout == 0.5
    model = build(annotation_dropout=0.5, encoder_layers=2).encoder.train()
    torch.manual_seed(37)
    embeddings, lengths = torch.randn(2, S, E, dtype=torch.float64), torch.tensor([3, S])
    assert (model(embeddings, lengths) - model(embeddings, lengths)).abs().max() > 1e-6


def test_language_model_dropout_acts_in_training_and_only_there():
    plain, model = build_lm(), build_lm(dropout=0.5)
    torch.testing.assert_close(lm_outputs(model.eval()), lm_outputs(plain), rtol=0, atol=0)
    model.train()
    assert (lm_outputs(model) - lm_outputs(model)).abs().max() > 1e-6


def test_language_model_dropout_stands_before_and_after_every_layer():
    model = build_lm(dropout=0.5).train()
    seen = []
    for layer in model.layers:
        layer.input.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    hidden, _ = model(torch.tensor(words([T, T], TARGET_WORDS)), model.zero_state(2))
    seen.append(hidden)
    assert len(seen) == len(model.layers) + 1
    for values in seen:
        assert 0 < (values == 0).sum() < values.numel()


# --- tied embeddings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, parts in PARTS.items() if parts["readout"].func is not LinearReadout])
def test_tied_target_embeddings_are_one_parameter(name):
    tied, untied = (build(name, some_attention(name), tied_target_embeddings=tied) for tied in (True, False))
    assert tied.readout.output.weight is tied.target_embedding.weight
    assert untied.readout.output.weight is not untied.target_embedding.weight
    assert count(untied) - count(tied) == TARGET_WORDS * E
    # one gradient: from words read and from words predicted, also those that were never read
    log_probs(tied)[..., 5].sum().backward()
    log_probs(untied)[..., 5].sum().backward()
    assert (tied.target_embedding.weight.grad != 0).any(dim=1).all()
    assert not (untied.target_embedding.weight.grad != 0).any(dim=1).all()


def test_tied_embeddings_of_the_language_model_are_one_parameter():
    tied = build_lm(tied_embeddings=True, embedding_size=D)
    untied = build_lm(embedding_size=D)
    assert tied.output.weight is tied.embedding.weight
    assert count(untied) - count(tied) == TARGET_WORDS * D


# --- initial values ---------------------------------------------------------------------------------------------------

# state-to-state matrices, by hand
RECURRENT = {
    "cgru": ["rec1.recurrent", "rec2.recurrent"],
    "rnnsearch": ["cell.recurrent", "cell.recurrent_gates"],
    "encoder_decoder": ["cell.recurrent"],
    ("bahdanau", "tanh"): ["cell.recurrent"],
    ("bahdanau", "gru"): ["cell.recurrent", "cell.recurrent_gates"],
    ("bahdanau", "gru_reset_after"): ["cell.recurrent"],
    ("bahdanau", "lstm"): ["cell.recurrent"],
    "gru_att": ["attention.recurrent", "attention.recurrent_gates"],
    "gru_att_pooled": ["attention.recurrent", "attention.recurrent_gates"],
    "coverage": ["attention.recurrent", "attention.recurrent_gates"],
}


def orthogonal_blocks(model):
    """Names of the matrices all of whose square blocks are orthogonal, U U^T = I; one-column matrices left out."""
    found = set()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and parameter.shape[1] > 1 and parameter.shape[0] % parameter.shape[1] == 0:
            eye = torch.eye(parameter.shape[1])
            if all(torch.allclose(block @ block.T, eye, atol=1e-5) for block in parameter.split(parameter.shape[1])):
                found.add(name)
    return found


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_orthogonal_makes_every_recurrent_block_orthogonal_and_nothing_else(name, attention, cell):
    if name == "rnnsearch":
        kinds = [f"{side}_cells.{layer}" for side in ("forward", "backward") for layer in (0, 1)]
        encoder = {f"encoder.{kind}.{matrix}.weight" for kind in kinds for matrix in ("recurrent_gates", "recurrent")}
    else:
        encoder = {f"encoder.gru.weight_hh_l{layer}{direction}" for layer in (0, 1) for direction in ("", "_reverse")}
    inner = RECURRENT[(name, cell) if name == "bahdanau" else name] + RECURRENT.get(attention, [])
    expected = encoder | {f"decoder.{matrix}.weight" for matrix in inner}
    made = {
        orthogonal: translator(**options(name, attention, cell, encoder_layers=2, orthogonal=orthogonal))
        for orthogonal in (True, False)
    }
    assert orthogonal_blocks(made[True]) == expected
    assert orthogonal_blocks(made[False]) == set()


@pytest.mark.parametrize("cell", CELLS)
def test_orthogonal_makes_every_recurrent_block_of_the_language_model_orthogonal(cell):
    expected = {f"layers.{layer}.recurrent.weight" for layer in (0, 1)}
    if cell == "gru":
        expected |= {f"layers.{layer}.recurrent_gates.weight" for layer in (0, 1)}
    assert orthogonal_blocks(rnn_lm(**lm_options(cell=cell, orthogonal=True))) == expected
    assert orthogonal_blocks(rnn_lm(**lm_options(cell=cell, orthogonal=False))) == set()


@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_seed_alone_decides_the_initial_values(name, attention, cell):
    def made(seed):
        torch.manual_seed(seed)
        return translator(**options(name, attention, cell, orthogonal=True)).state_dict()

    first, again, other = made(0), made(0), made(1)
    assert all(torch.equal(first[key], again[key]) for key in first)
    for key in first:
        if first[key].ndim == 2:
            assert not torch.equal(first[key], other[key]), key
            assert first[key].abs().max() > 0, key
        else:
            assert torch.all(first[key] == 0), key
    for side in ("source", "target"):
        assert torch.all(first[f"{side}_embedding.weight"][0] == 0)
        assert torch.all(first[f"{side}_embedding.weight"][1:].abs().max(dim=1).values > 0)
