"""The unroll with a hand-written backward pass is the plain loop: outputs, gradients, dtypes; and it keeps little."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fast_decoders import COVERAGE, FAST_ATTENTIONS, FAST_DECODERS, C, build, every_fast_pair, mask, normal
from support.small_models import ATTENDING, SOURCE_WORDS, TARGET_WORDS, A, B, D, E, S, T, pad, randomise, words
from support.small_models import build as build_translator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from unrolled.models.attention import (
    BahdanauAttention,
    CoverageAttention,
    DotAttention,
)
from unrolled.models.decoder import BahdanauDecoder, CGRUDecoder, MeanContextDecoder, RNNsearchDecoder
from unrolled.models.extrapolating_attention import ExtrapolatingLocationAttention
from unrolled.models.fast import attention as fast_attention
from unrolled.models.fast import recomputed
from unrolled.models.location_attention import LocationAttention


def outputs_and_gradients(decoder, unroll, annotations, embeddings, valid, parameters=None):
    """Of a loss that looks at states, contexts and weights; gradients also to s_0 and the attention's memory."""
    annotations, embeddings = annotations.clone().requires_grad_(), embeddings.clone().requires_grad_()
    state = decoder.start(annotations, valid)
    (states, contexts), weights = unroll(embeddings, state)
    outputs = [states, contexts, weights]
    loss = sum((out * normal(*out.shape, seed=42 + i)).sum() for i, out in enumerate(outputs))
    parameters = list(decoder.parameters()) if parameters is None else parameters
    return outputs, list(torch.autograd.grad(loss, [annotations, embeddings, *parameters], materialize_grads=True))


def assert_same(found, expected, atol):
    for one, other in zip(found[0] + found[1], expected[0] + expected[1], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=atol)


@every_fast_pair
@settings(max_examples=8)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    extra=st.integers(0, 2),
    steps=st.integers(1, 5),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 6), st.integers(1, 6)),
    tied=st.booleans(),
)
def test_fast_unroll_equals_the_plain_loop(name, attention, lengths, extra, steps, sizes, tied):
    """Any batch, lengths, steps and sizes, all sizes the same ones too."""
    embedding, half, size, attention_size = (2, 1, 2, 2) if tied else sizes
    decoder = build(name, attention, embedding=embedding, annotation=2 * half, size=size, attention_size=attention_size)
    length = max(lengths) + extra
    annotations, embeddings = normal(len(lengths), length, 2 * half), normal(len(lengths), steps, embedding)
    valid = mask(lengths, length)
    fast = outputs_and_gradients(decoder, decoder.unroll, annotations, embeddings, valid)
    plain = outputs_and_gradients(decoder, decoder.unroll_plainly, annotations, embeddings, valid)
    assert_same(fast, plain, atol=1e-10)
    assert torch.all(fast[0][2].masked_select(~valid.unsqueeze(1)) == 0)


@pytest.mark.parametrize("kind", [CGRUDecoder, RNNsearchDecoder])
def test_where_the_keys_are_the_annotations_both_gradients_are_added(kind):
    decoder = kind(embedding_size=E, annotation_size=C, size=C, attention=DotAttention(query_size=C, annotation_size=C))
    inputs = (normal(B, S, C), normal(B, T, E), mask([3, S], S))
    decoder = randomise(decoder.double(), 40)
    assert decoder.kernel(decoder.start(inputs[0], inputs[2])) is not None
    fast = outputs_and_gradients(decoder, decoder.unroll, *inputs)
    assert_same(fast, outputs_and_gradients(decoder, decoder.unroll_plainly, *inputs), atol=1e-10)


@every_fast_pair
def test_gradients_reach_the_first_state_and_the_attention_memory(name, attention):
    decoder = build(name, attention)
    found = []
    for unroll in (decoder.unroll, decoder.unroll_plainly):
        prepared, first, memory = decoder.start(normal(B, S, C), mask([3, S], S))
        s = (first[0] if isinstance(first, tuple) else first).detach().requires_grad_()
        memory = tuple(normal(*part.shape, seed=44).requires_grad_() for part in memory)
        state = (prepared, (s,) if isinstance(first, tuple) else s, memory)
        (states, contexts), weights = unroll(normal(B, T, E), state)
        loss = (states * normal(*states.shape, seed=45)).sum() + (contexts**2).sum() + (weights**2).sum()
        found.append(([states], list(torch.autograd.grad(loss, [s, *memory]))))
    assert_same(*found, atol=1e-10)


@every_fast_pair
@pytest.mark.parametrize("looked_at", [0, 1, 2], ids=["states", "contexts", "weights"])
def test_a_loss_may_look_at_one_output_alone(name, attention, looked_at):
    decoder = build(name, attention)
    found = []
    for unroll in (decoder.unroll, decoder.unroll_plainly):
        annotations = normal(B, S, C).requires_grad_()
        (states, contexts), weights = unroll(normal(B, T, E), decoder.start(annotations, mask([3, S], S)))
        out = (states, contexts, weights)[looked_at]
        found.append(([out], list(torch.autograd.grad((out * normal(*out.shape, seed=46)).sum(), [annotations]))))
    assert_same(*found, atol=1e-10)


def test_every_other_combination_takes_the_plain_loop():
    sizes = {"embedding_size": E, "annotation_size": D + 1, "size": D + 1}
    mechanisms = [
        ExtrapolatingLocationAttention(query_size=D + 1, annotation_size=D + 1, size=A),
    ]
    decoders = [kind(**sizes, attention=m) for m in mechanisms for kind in (CGRUDecoder, RNNsearchDecoder)]
    additive = BahdanauAttention(query_size=D + 1, annotation_size=D + 1, size=A)
    decoders.append(BahdanauDecoder(**sizes, attention=additive, cell="lstm"))
    decoders.append(MeanContextDecoder(**sizes))
    for decoder in decoders:
        state = decoder.start(torch.randn(B, S, D + 1), mask([3, S], S))
        assert decoder.kernel(state) is None


@every_fast_pair
def test_training_takes_the_fast_road_and_inference_the_plain_one(name, attention):
    decoder = build(name, attention)
    state = decoder.start(normal(B, S, C), mask([3, S], S))
    (states, contexts), weights = decoder.unroll(normal(B, T, E), state)
    for out in (states, contexts, weights):
        assert "Unrolled" in type(out.grad_fn).__name__ or "Unrolled" in type(out.grad_fn.next_functions[0][0]).__name__
    decoder.kernel = None  # whoever asks for it fails
    with torch.no_grad():
        (plain_states, plain_contexts), plain_weights = decoder.unroll(normal(B, T, E), state)
    plain = (plain_states, plain_contexts, plain_weights)
    for fast, out in zip((states, contexts, weights), plain, strict=True):
        assert not out.requires_grad
        assert fast.dtype == out.dtype
        torch.testing.assert_close(fast.detach(), out, rtol=0, atol=1e-10)


@every_fast_pair
def test_a_second_derivative_is_refused(name, attention):
    decoder = build(name, attention)
    embeddings = normal(B, T, E).requires_grad_()
    (states, _), _ = decoder.unroll(embeddings, decoder.start(normal(B, S, C), mask([3, S], S)))
    for loss in ((states**2).sum(), states.sum()):
        with pytest.raises(RuntimeError, match="a decoder's unroll can be differentiated only once; use unr"):
            torch.autograd.grad(loss, embeddings, create_graph=True, retain_graph=True)


@every_fast_pair
def test_frozen_parameters_stay_without_gradient_and_change_no_other(name, attention):
    decoder = build(name, attention)
    annotations, embeddings, valid = normal(B, S, C), normal(B, T, E), mask([3, S], S)
    names = [n for n, _ in decoder.named_parameters()]
    everything = outputs_and_gradients(decoder, decoder.unroll, annotations, embeddings, valid)
    for frozen in decoder.attention.parameters():
        frozen.requires_grad_(False)
    free = [p for p in decoder.parameters() if p.requires_grad]
    some = outputs_and_gradients(decoder, decoder.unroll, annotations, embeddings, valid, parameters=free)
    kept = [g for n, g in zip(names, everything[1][2:], strict=True) if not n.startswith("attention.")]
    assert len(kept) == len(free)
    assert_same(some, (everything[0], everything[1][:2] + kept), atol=0)


@every_fast_pair
def test_a_graph_that_is_kept_gives_the_same_gradients_again(name, attention):
    decoder = build(name, attention)
    annotations = normal(B, S, C).requires_grad_()
    (states, contexts), _ = decoder.unroll(normal(B, T, E), decoder.start(annotations, mask([3, S], S)))
    loss, leaves = (states**2).sum() + contexts.sum(), [annotations, *decoder.parameters()]
    first = torch.autograd.grad(loss, leaves, retain_graph=True)
    again = torch.autograd.grad(loss, leaves)
    for one, other in zip(first, again, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("kept_steps", [0, 1, T])
@pytest.mark.parametrize("name", FAST_DECODERS)
@pytest.mark.parametrize("attention", ["gru_att", "gru_att_pooled"])
def test_gates_of_gru_attention_may_be_kept_or_made_again(name, attention, kept_steps, monkeypatch):
    monkeypatch.setattr(fast_attention, "KEPT_BYTES", kept_steps * B * S * 3 * A * 8)
    decoder = build(name, attention)
    inputs = (normal(B, S, C), normal(B, T, E), mask([3, S], S))
    fast = outputs_and_gradients(decoder, decoder.unroll, *inputs)
    assert_same(fast, outputs_and_gradients(decoder, decoder.unroll_plainly, *inputs), atol=1e-10)


def kept_numbers(decoder, steps, length):
    """How many numbers autograd holds between forward and backward of an unroll."""
    held = {}

    def hold(tensor):
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.itemsize
        return tensor

    state = decoder.start(normal(B, length, C), mask([length] * B, length))
    with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
        _outputs = decoder.unroll(normal(B, steps, E), state)
    return sum(held.values())


@every_fast_pair
def test_what_is_kept_grows_with_steps_times_length_only_by_the_memory(name, attention, monkeypatch):
    """A step more keeps per source position one weight and the attention's memory, for coverage with its gates."""
    monkeypatch.setattr(fast_attention, "KEPT_BYTES", 0)
    decoder = build(name, attention)
    grows = [kept_numbers(decoder, T + 1, length) - kept_numbers(decoder, T, length) for length in (S, S + 1)]
    memory = {"bahdanau": 0, "general": 0, "gru_att": A, "gru_att_pooled": A, "coverage": 4 * COVERAGE, "location": 1}
    assert grows[1] - grows[0] == B * (1 + memory[attention])


@every_fast_pair
def test_float32_is_near_float64(name, attention):
    decoder = build(name, attention)
    inputs = (normal(B, S, C), normal(B, T, E))
    valid = mask([3, S], S)
    exact = outputs_and_gradients(decoder, decoder.unroll_plainly, *inputs, valid)
    single = outputs_and_gradients(decoder.float(), decoder.unroll, *(x.float() for x in inputs), valid)
    for found, expected in zip(single[0] + single[1], exact[0] + exact[1], strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)


@every_fast_pair
def test_bfloat16_lowers_products_and_keeps_states_and_gradients_in_float32(name, attention):
    decoder = build(name, attention).float()
    inputs, valid = (normal(B, S, C).float(), normal(B, T, E).float()), mask([3, S], S)
    exact = outputs_and_gradients(decoder, decoder.unroll, *inputs, valid)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = outputs_and_gradients(decoder, decoder.unroll, *inputs, valid)
    assert any((one - other).abs().max() > 1e-5 for one, other in zip(low[0], exact[0], strict=True))
    for found, expected in zip(low[0] + low[1], exact[0] + exact[1], strict=True):
        assert found.dtype == torch.float32
        assert (found - expected).norm() < 0.05 * expected.norm()


class MatrixProducts(TorchDispatchMode):
    """Notes the dtypes of all matrix products."""

    def __init__(self):
        super().__init__()
        self.dtypes = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.addmm_):
            self.dtypes |= {x.dtype for x in args}
        return function(*args, **(kwargs or {}))


@every_fast_pair
def test_under_autocast_every_matrix_product_is_lowered(name, attention):
    decoder = build(name, attention).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state = decoder.start(normal(B, S, C).float(), mask([3, S], S))
        embeddings = normal(B, T, E).float()
        with MatrixProducts() as products:
            (states, contexts), weights = decoder.unroll(embeddings, state)
    with products:
        (states.sum() + contexts.sum() + weights.sum()).backward()
    assert products.dtypes == {torch.bfloat16}


@every_fast_pair
def test_nothing_waits_for_the_device(name, attention):
    """On tensors without numbers, anything that would ask a GPU for a value raises."""
    with FakeTensorMode():
        decoder = FAST_DECODERS[name][0](
            embedding_size=E,
            annotation_size=C,
            size=D,
            attention=FAST_ATTENTIONS[attention](query_size=D, annotation_size=C, size=A),
            **FAST_DECODERS[name][1],
        )
        annotations, valid = torch.randn(B, S, C, requires_grad=True), torch.ones(B, S, dtype=torch.bool)
        (states, contexts), weights = decoder.unroll(torch.randn(B, T, E), decoder.start(annotations, valid))
        (states.sum() + contexts.sum() + weights.sum()).backward()
        assert annotations.grad.shape == annotations.shape


@pytest.mark.parametrize("model", ATTENDING)
@pytest.mark.parametrize("attention", FAST_ATTENTIONS)
def test_under_dropout_a_whole_translator_computes_the_same(model, attention):
    """One seed, one set of masks: they are drawn outside of the recurrence."""
    dropout = {f"{part}_dropout": 0.4 for part in ("embedding", "annotation", "readout")}
    translator = build_translator(model, attention, seed=47, **dropout).train()
    source, lengths = pad(words([2, 5, S], SOURCE_WORDS))
    target, _ = pad(words([3, 1, T], TARGET_WORDS))
    found = []
    for plainly in (False, True):
        if plainly:
            translator.decoder.unroll = translator.decoder.unroll_plainly
        torch.manual_seed(48)
        hidden, weights = translator(source, lengths, target, target != 0)
        loss = (hidden * normal(*hidden.shape, seed=49)).sum()
        gradients = torch.autograd.grad(loss, list(translator.parameters()), materialize_grads=True)
        found.append(([hidden, weights], list(gradients)))
    assert_same(*found, atol=1e-10)
    assert (found[0][0][0] == 0).any()


@pytest.mark.parametrize("kept", [0, 30_000, 2**29], ids=["the first step", "some steps", "all steps"])
@pytest.mark.parametrize("mechanism", ["location", "coverage"])
def test_steps_that_are_computed_again_give_the_same_gradients(mechanism, kept, monkeypatch):
    attention = {
        "location": lambda: LocationAttention(query_size=D, annotation_size=C, size=A, filters=2, kernel_size=3),
        "coverage": lambda: CoverageAttention(query_size=D, annotation_size=C, size=A, coverage_size=2),
    }[mechanism]()
    decoder = randomise(CGRUDecoder(embedding_size=E, annotation_size=C, size=D, attention=attention).double(), 40)
    decoder.kernel = lambda state: None
    annotations, embeddings, valid = normal(B, S, C), normal(B, 7, E), mask([3, S], S)
    plain = outputs_and_gradients(decoder, decoder.unroll_plainly, annotations, embeddings, valid)
    monkeypatch.setattr(recomputed, "KEPT_BYTES", kept)
    monkeypatch.setattr(recomputed, "LARGE_BYTES", 0)  # every result gets a place of its own
    monkeypatch.setattr(recomputed, "PLACES", 3)
    again = []
    monkeypatch.setattr(recomputed, "checkpoint", lambda *a, **o: again.append(a) or checkpoint(*a, **o))
    found = outputs_and_gradients(decoder, decoder.unroll, annotations, embeddings, valid)
    assert_same(found, plain, atol=1e-12)
    assert len(again) in {0: (6,), 30_000: range(1, 6), 2**29: (0,)}[kept]
