"""Exported graphs compute what the model does, at every size of batch and sentence; what has none is refused."""

import pytest
import torch
from support.exporting import operators_read_once
from support.small_models import SOURCE_WORDS, TARGET_WORDS, build, build_lm
from torch import nn

from unrolled.errors import UserError
from unrolled.exported.graphs import dynamic_axes, graphs, leaves, nested
from unrolled.exported.onnx_encoder import OnnxEncoder
from unrolled.models import extrapolating_attention
from unrolled.models.encoder import Encoder
from unrolled.models.feedforward_lm import feedforward_lm


@pytest.fixture(scope="module")
def _operators():
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason="export needs it: pip install 'unrolled[export]'")
    with operators_read_once():
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("_operators")
@pytest.mark.parametrize(
    "name",
    ["rnnsearch-coverage", "cgru-location_extrapolating", "encoder_decoder-none", "rnn_lm-lstm", "feedforward_lm-2"],
)
def test_onnxruntime_computes_the_same(name, tmp_path):
    """One of each kind, and a bigram, which has no words before; docs/export.md has all, and how they were checked."""
    from unrolled.exported.onnx_files import write_graphs
    from unrolled.exported.session import largest_difference

    family, part = name.split("-")
    if family == "feedforward_lm":
        sizes = {"source_vocabulary": None, "target_vocabulary": TARGET_WORDS, "embedding_size": 5, "hidden_size": 7}
        model = feedforward_lm(**sizes, attention=None, order=int(part), direct=True, dropout=0.0)
    else:
        model = build_lm(part) if family == "rnn_lm" else build(family, part, encoder_layers=2)
    model = model.float().eval()
    described = write_graphs(model, tmp_path)
    with torch.inference_mode():
        assert largest_difference(model, tmp_path, described, (SOURCE_WORDS, TARGET_WORDS)) < 1e-5
        next(iter(model.parameters())).add_(0.1)  # a file of another model is far from it
        assert largest_difference(model, tmp_path, described, (SOURCE_WORDS, TARGET_WORDS)) > 1e-3


@pytest.mark.usefixtures("_operators")
def test_a_graph_of_a_fixed_size_is_no_graph_of_the_model(tmp_path, monkeypatch):
    from unrolled.exported.onnx_files import write_graphs

    def fixed(energies, valid):
        return torch.softmax(energies.unflatten(0, (len(valid), -1)), dim=-1).flatten(0, 1)

    monkeypatch.setattr(extrapolating_attention, "normalised", fixed)
    with pytest.raises(UserError, match=r"Step cannot be exported: .* use shape\[0\] instead of len"):
        write_graphs(build("cgru", "location_extrapolating").float().eval(), tmp_path)
    assert not (tmp_path / "step.onnx").exists()


def test_the_axes_that_are_not_fixed_are_found():
    batch, both = {0: "batch"}, {0: "batch", 1: "length"}
    assert dynamic_axes(build("cgru", "gru_att")) == [both, both, both, batch, both]  # keys, h, valid, s, v
    assert dynamic_axes(build_lm("gru")) == [batch, batch]
    found = graphs(build("cgru", "gru_att").eval())
    assert found.of_sentence == [True, True, True, False, False]


def test_states_are_taken_apart_and_put_together():
    state = build("bahdanau", "gru_att_pooled", "lstm").eval()
    state = state.decoder.start(torch.randn(2, 5, 8, dtype=torch.float64), torch.ones(2, 5, dtype=torch.bool))
    tensors = [tensor for tensor, _ in leaves(state)]
    again = nested(state, iter(tensors))
    assert all(one is other for (one, _), other in zip(leaves(again), tensors, strict=True))
    assert type(again[0]) is type(state[0])


class Own(Encoder):
    pass


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(UserError, match="Own cannot be exported"):
        OnnxEncoder(Own())
    with pytest.raises(UserError, match="Linear cannot be exported"):
        graphs(nn.Linear(2, 3))
