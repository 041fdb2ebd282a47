"""Cells and encoders with a hand-written backward pass, or torch's own, are the plain loop."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_models import B, D, E, S, T, randomise
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.models.cells import CELLS, GRUResetAfter, make_cell
from unrolled.models.encoder import BidirectionalGRU
from unrolled.models.fast.lstm import runs as lstm_runs

KERNELS = [name for name in CELLS if name != "lstm"]


def normal(*shape, seed=51, dtype=torch.float64):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def cell_called(name, dtype=torch.float64):
    return randomise(make_cell(name, input_size=E, hidden_size=D).double(), 50).to(dtype)


def outputs_and_gradients(run, inputs, parameters):
    inputs = inputs.clone().requires_grad_()
    outputs = run(inputs)
    loss = (outputs * normal(*outputs.shape, seed=52).to(outputs.dtype)).sum()
    return [outputs, *torch.autograd.grad(loss, [inputs, *parameters])]


def of_cell(cell, unroll, dtype=torch.float64):
    inputs = normal(B, T, E, dtype=dtype)
    return outputs_and_gradients(lambda x: unroll(x, cell.start(x, B))[0], inputs, cell.parameters())


def test_reset_after_by_torch_equals_the_plain_loop():
    """What a GPU runs by cuDNN; here by torch's own loop."""
    cell: GRUResetAfter = cell_called("gru_reset_after")
    for one, other in zip(of_cell(cell, cell.unroll_by_torch), of_cell(cell, cell.unroll_plainly), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    start = (normal(B, D, seed=53),)
    (one,), (other,) = (unroll(normal(B, T, E), start)[1] for unroll in (cell.unroll_by_torch, cell.unroll_plainly))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", CELLS)
def test_training_and_inference_compute_the_same(name):
    cell = cell_called(name)
    state = tuple(normal(B, D, seed=54 + i) for i in range(len(cell.start(torch.zeros(1), 1))))
    trained, last = cell.unroll(normal(B, T, E), state)
    with torch.no_grad():
        inferred, inferred_last = cell.unroll(normal(B, T, E), state)
    assert trained.requires_grad
    assert not inferred.requires_grad
    for one, other in zip((trained, *last), (inferred, *inferred_last), strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_a_second_derivative_of_a_cell_is_refused(name):
    cell = cell_called(name)
    inputs = normal(B, T, E).requires_grad_()
    outputs, _ = cell.unroll(inputs, cell.start(inputs, B))
    for loss in ((outputs**2).sum(), outputs.sum()):
        with pytest.raises(RuntimeError, match="a cell's unroll can be differentiated only once; use unroll_plainly"):
            torch.autograd.grad(loss, inputs, create_graph=True, retain_graph=True)


def test_a_second_derivative_of_the_lstm_is_right_or_refused():
    """torch's fused one has none; its other one, in float64, has."""
    for dtype in (torch.float32, torch.float64):
        cell = cell_called("lstm", dtype)
        inputs = normal(B, T, E, dtype=dtype).requires_grad_()
        second = []
        for unroll in (cell.unroll_plainly, cell.unroll):
            outputs, _ = unroll(inputs, cell.start(inputs, B))
            (gradient,) = torch.autograd.grad((outputs**2).sum(), inputs, create_graph=True)
            try:
                second.append(torch.autograd.grad((gradient**2).sum(), inputs)[0])
            except RuntimeError as refused:
                assert dtype == torch.float32 and "not implemented" in str(refused)  # noqa: PT017, PT018
        if len(second) == 2:
            torch.testing.assert_close(*second, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", CELLS)
def test_bfloat16_is_near_float32_and_states_stay_wide(name):
    cell = cell_called(name, torch.float32)
    exact = of_cell(cell, cell.unroll_plainly, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = of_cell(cell, cell.unroll, torch.float32)
    for found, expected in zip(low, exact, strict=True):
        assert found.dtype == torch.float32
        assert (found - expected).norm() < 0.05 * expected.norm()
    if name != "lstm" or lstm_runs(torch.bfloat16):  # else it is float32
        assert not torch.equal(low[0], exact[0])


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, S), min_size=1, max_size=4),
    extra=st.integers(0, 2),
    layers=st.integers(1, 3),
    size=st.integers(1, 4),
)
def test_encoder_equals_nn_gru_over_packed_sentences(lengths, extra, layers, size):
    encoder = randomise(BidirectionalGRU(embedding_size=E, size=size, layers=layers).double(), 55)
    words, lengths = normal(len(lengths), max(lengths) + extra, E), torch.tensor(lengths)
    found = []
    for road in (encoder.annotate, encoder.annotate_by_torch):
        found.append(outputs_and_gradients(lambda x, road=road: road(x, lengths), words, encoder.parameters()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_two_layers_under_one_mask_compute_the_same(monkeypatch):
    """nn.GRU draws its masks in another order: here the same mask is applied between single layers of nn.GRU."""
    size, rate, lengths = 3, 0.4, torch.tensor([S, 2, 4])
    encoder = randomise(BidirectionalGRU(embedding_size=E, size=size, layers=2, dropout=rate).double(), 57).train()
    words = normal(3, S, E)
    mask = (normal(3, S, 2 * size, seed=58) > -0.2).double() / (1 - rate)
    calls = []

    def dropout(inputs, p, training):
        calls.append((p, training))
        return inputs * mask

    def plain(inputs):
        for layer, size_in in enumerate((E, 2 * size)):
            single = nn.GRU(size_in, size, batch_first=True, bidirectional=True).double()
            names = {name: f"{name.replace('_l0', f'_l{layer}')}" for name, _ in single.named_parameters()}
            parameters = {name: getattr(encoder.gru, there) for name, there in names.items()}
            packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
            outputs, _ = torch.func.functional_call(single, parameters, (packed,))
            inputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=S)
            inputs = inputs if layer else inputs * mask
        return inputs

    monkeypatch.setattr("unrolled.models.encoder.functional.dropout", dropout)
    fast = outputs_and_gradients(lambda x: encoder.annotate(x, lengths), words, encoder.parameters())
    for one, other in zip(fast, outputs_and_gradients(plain, words, encoder.parameters()), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    assert calls == [(rate, True)]


def test_encoder_drops_out_between_its_layers_alike():
    """One seed, one mask a layer: nn.GRU draws in another order, so compare rates, and that the last layer is whole."""
    encoder = BidirectionalGRU(embedding_size=E, size=50, layers=2, dropout=0.5).double()
    nn.init.zeros_(encoder.gru.weight_hh_l1)
    words, lengths = normal(40, T, E), torch.full((40,), T)
    whole = encoder.eval().annotate(words, lengths)
    torch.testing.assert_close(whole, encoder.annotate_by_torch(words, lengths), rtol=0, atol=1e-10)
    spreads = []
    for road in (encoder.train().annotate, encoder.annotate_by_torch):
        torch.manual_seed(0)
        dropped = road(words, lengths)
        assert torch.all(dropped != 0)
        spreads.append((dropped - whole).std().item())
    assert spreads[0] == pytest.approx(spreads[1], rel=0.1)
    assert spreads[0] > 0.01
