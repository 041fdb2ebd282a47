"""Checkpoints under dl4mt's and Nematus' names, against the same equations in NumPy (support/reference_dl4mt.py)."""

import re

import numpy as np
import pytest
import torch
from support.reference_dl4mt import SIZES, Reference, checkpoint
from support.small_models import pad

from unrolled.errors import UserError
from unrolled.imported.dl4mt import SHAPES, is_tied, read_parameters, translated
from unrolled.imported.nematus_options import output_scale, read_options
from unrolled.models.attention import BahdanauAttention
from unrolled.models.decoder import DL4MTDecoder
from unrolled.models.readout import DeepReadout
from unrolled.models.translator import translator
from unrolled.text.tokens import BOS, PAD

SOURCES = [[2, 5, 16, 0], [9, 1, 3, 3, 8, 11, 0], [4, 0]]  # their ids; 0 is the end
TARGETS = [[3, 18, 1, 0], [7, 2, 0], [5, 5, 6, 12, 4, 0]]
FORMS = {
    "dl4mt": {},
    "equal sizes, as dl4mt's own": {"H": 7, "D": 7, "A": 14},
    "Nematus, another name of the constant": {"constant": "decoder_c_att"},
    "Nematus, output tied": {"tied": True},
    "Nematus, one vocabulary": {"one_vocabulary": True, "S": 19},
    "Nematus, one vocabulary, output tied": {"one_vocabulary": True, "S": 19, "tied": True},
}


def read(tmp_path, parameters, **more):
    np.savez(tmp_path / "model.npz", **parameters, **more)
    return read_parameters(tmp_path / "model.npz")


def build(parameters, sizes, scale=1.0):
    """The translator of these parameters, in float64."""
    model = translator(
        source_vocabulary=sizes["S"] + 2,
        target_vocabulary=sizes["T"] + 2,
        decoder=DL4MTDecoder,
        readout=DeepReadout,
        attention=lambda **given: BahdanauAttention(size=sizes["A"], **given),
        embedding_size=sizes["E"],
        encoder_size=sizes["H"],
        encoder_layers=1,
        decoder_size=sizes["D"],
        embedding_dropout=0.0,
        annotation_dropout=0.0,
        readout_dropout=0.0,
        tied_target_embeddings=is_tied(parameters, scale),
        orthogonal=False,
    ).double()
    model.load_state_dict(translated(parameters, scale))
    return model.eval()


def ours(model):
    """log p of the words of TARGETS, and the weights, by our forward: one padded batch, ids moved up by two."""
    source, lengths = pad([[word + 2 for word in words] for words in SOURCES], filler=PAD)
    target, _ = pad([[BOS, *(word + 2 for word in words)] for words in TARGETS], filler=PAD)
    inputs = target[:, :-1]
    hidden, weights = model(source, lengths, inputs, torch.ones_like(inputs, dtype=torch.bool))
    log_probs = torch.log_softmax(model.readout.output(hidden), dim=-1).unflatten(0, inputs.shape)
    return log_probs.gather(2, target[:, 1:].unsqueeze(2)).squeeze(2), weights, log_probs


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("form", FORMS)
def test_imported_weights_compute_what_their_equations_say(form, scale, tmp_path):
    parameters = checkpoint(**FORMS[form])
    found, sizes = read(tmp_path, parameters)
    with torch.no_grad():
        log_probs, weights, every = ours(build(found, sizes, scale))
    reference = Reference(parameters, scale)
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        expected, alpha = reference.score(source, target)
        np.testing.assert_allclose(log_probs[row, : len(target)].numpy(), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights[row, : len(target), : len(source)].numpy(), alpha, rtol=0, atol=1e-12)
    assert every[:, :, [PAD, BOS]].exp().max() == 0
    assert every[:, :, [PAD, BOS]].isfinite().all()


def test_every_parameter_changes_the_result(tmp_path):
    """A parameter that went nowhere, or to the wrong place with the right shape, shows."""
    parameters = checkpoint()
    found, sizes = read(tmp_path, parameters)
    with torch.no_grad():
        before = ours(build(found, sizes))[0]
        for name in SHAPES:
            changed = found | {name: found[name] + 0.01}
            log_probs = ours(build(changed, sizes))[0]
            expected = np.concatenate([Reference(changed | {"decoder_c_tt": np.zeros(1)}).score(*pair)[0] for pair in
                                       zip(SOURCES, TARGETS, strict=True)])  # fmt: skip
            flat = np.concatenate([row[: len(target)] for row, target in zip(log_probs.numpy(), TARGETS, strict=True)])
            np.testing.assert_allclose(flat, expected, rtol=0, atol=1e-12, err_msg=name)
            assert (log_probs - before).abs().max() > 1e-6 or name == "ff_logit_b", name


def test_the_constant_of_the_energies_and_the_state_of_training_are_not_opened(tmp_path):
    pickled = np.array([{"adam": 1}], dtype=object)
    found, sizes = read(tmp_path, checkpoint(), history_errs=pickled, zipped_params=pickled, uidx=np.int64(7))
    assert set(found) == set(SHAPES)
    assert sizes == SIZES


def without(name):
    return {key: value for key, value in checkpoint().items() if key != name}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (without("decoder_bx_nl"), "there is no decoder_bx_nl; give a model of dl4mt's session 2"),
        ({"a": np.ones(3)}, "there is a parameter a, which neither"),
        ({"Wemb": np.ones((3, 5))}, "there is no ff_logit_b and 36 more"),
        (checkpoint() | {"decoder_W_lnb": np.ones(3)}, "a parameter of layer normalisation, which cannot be imported"),
        (checkpoint() | {"ff_state_ln_s": np.ones(3)}, "layer normalisation"),
        (checkpoint() | {"encoder_U_wns": np.ones(3)}, "weight normalisation"),
        (checkpoint() | {"Wemb1": np.ones((3, 2))}, "factors"),
        (checkpoint() | {"decoder_U_nl_drt_1": np.ones((3, 2))}, "deep transitions"),
        (checkpoint() | {"encoder_r_2_W": np.ones((3, 2))}, "several layers"),
        (checkpoint() | {"decoder_Wc": np.ones((6, 13))}, r"decoder_Wc has the shape \(6, 13\), not \(6, 14\) as by"),
        (checkpoint() | {"Wemb_dec": np.ones((18, 5))}, "ff_logit_W has the shape"),
        (checkpoint() | {"ff_logit_b": np.ones((1, 19))}, r"ff_logit_b has the shape \(1, 19\), not \(T\)"),
        (checkpoint(S=2), "there are no words except the end"),
        (without("Wemb_dec"), "without Wemb_dec both sides must share one vocabulary, but theirs have 17 and 19"),
        (checkpoint() | {"ff_logit_b": np.full(19, np.nan)}, "ff_logit_b holds NaN"),
        (checkpoint() | {"ff_logit_b": np.array([None] * 19)}, "ff_logit_b holds pickled objects"),
        (checkpoint() | {"ff_logit_b": np.ones(19, dtype=int)}, "ff_logit_b holds int64"),
    ],
)
def test_other_models_are_refused_with_one_line(parameters, message, tmp_path):
    with pytest.raises(UserError, match=message) as refused:
        read(tmp_path, parameters)
    assert "\n" not in str(refused.value)


# Options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"enc_depth": 4}', "enc_depth=4: only enc_depth=1 can be imported"),
        ('{"output_hidden_activation": "relu"}', 'output_hidden_activation="relu": only .*"tanh"'),
        ('{"decoder": "lstm_cond"}', "lstm_cond"),
        ("[]", "these are no options"),
        ("{", "damaged"),
    ],
)
def test_options_of_other_models_are_refused(text, message, tmp_path):
    (tmp_path / "model.npz.json").write_text(text)
    with pytest.raises(UserError, match=message):
        read_options(tmp_path / "model.npz.json")


@pytest.mark.parametrize(
    ("options", "use_dropout", "scale"),
    [
        ({}, None, 1.0),
        ({}, True, 0.5),
        ({"use_dropout": True}, None, 0.5),  # dl4mt's, made JSON by hand
        ({"use_dropout": True}, False, 1.0),
        ({"use_dropout": True, "dropout_hidden": 0.2, "model_version": 0.2}, None, 1.0),
        ({"use_dropout": True, "dropout_hidden": 0.0, "model_version": 0}, None, 1.0),
    ],
)
def test_only_dl4mt_s_dropout_halves_the_readout(options, use_dropout, scale, tmp_path):
    assert output_scale(options, use_dropout, tmp_path) == scale


def test_an_early_nematus_with_dropout_is_refused(tmp_path):
    with pytest.raises(UserError, match=re.escape("before model_version 0.1")):
        output_scale({"use_dropout": True, "dropout_hidden": 0.2}, None, tmp_path)
    assert read_options(tmp_path / "none.json") == {}
