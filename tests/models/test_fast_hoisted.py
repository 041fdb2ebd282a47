"""Sums of products instead of products of sums: the same log-probabilities, and nothing left behind."""

from functools import partial

import pytest
import torch
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, TARGET_WORDS, batch_of, build, fed, words

from unrolled.models.attention import BahdanauAttention
from unrolled.models.decoder import CGRUDecoder
from unrolled.models.fast import hoisted as module
from unrolled.models.fast.frozen import frozen
from unrolled.models.fast.hoisted import hoisted
from unrolled.models.fast.int8 import levels
from unrolled.models.readout import DeepReadout
from unrolled.search.generator import select

K = 3
DECLARED = {"cgru", "rnnsearch"}
"""The models whose decoder and readout read the context through layers of its own."""


def rows_of(model, lengths=(4, 2)):
    """Log-probabilities ``(steps, B K, V)`` of K hypotheses of each sentence, and the width of the last context."""
    sources = words(lengths, SOURCE_WORDS, seed=3)
    widths = []
    state = model.start(batch_of(sources))
    state = select_each(state, len(sources))
    targets = torch.tensor(words([3] * (K * len(sources)), TARGET_WORDS, seed=4))
    log_probs = []
    for word in targets.unbind(1):
        features, _, _ = model.decoder.advance(model.of_words(word)[0], state)
        widths.append(features[1].shape[1])
        rows, state = model.step(word, state)
        log_probs.append(rows.clone())
    return torch.stack(log_probs), widths[-1]


def select_each(state, sentences):
    """Every row of a hypothesis K times, sentence by sentence."""
    return select(state, torch.arange(sentences).repeat_interleave(K), torch.arange(sentences))


def left_behind(model):
    return [name for part in model.modules() for name in ("forward", "prepare") if name in vars(part)]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=IDS)
def test_the_same_log_probabilities(combination):
    model = build(*combination, seed=5).eval()
    with torch.inference_mode():
        expected, size = rows_of(model)
        with hoisted([model], K):
            found, width = rows_of(model)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    assert (width != size) == (combination[0] in DECLARED and combination[1] not in ("dot", "none"))
    assert left_behind(model) == []


@pytest.mark.parametrize("int8", [False, True])
def test_in_int8_a_sentence_is_rounded_alike_whatever_is_in_its_batch(int8):
    """In float, batches with a long sentence keep their contexts; rounded, contexts and products are not the same."""
    model = build(seed=5).float().eval()
    with torch.inference_mode(), frozen([model], int8=int8), hoisted([model], K):
        short, long = (rows_of(model, lengths)[1] for lengths in ((4, 2), (16 * K, 2)))
    assert (short == long) == (int8 and levels() is not None)


def test_input_feeding_reads_the_context_twice():
    layers = build(decoder=fed(), seed=5).decoder.context_layers()
    assert len(layers) == 2


def test_one_hypothesis_or_a_long_source_keeps_the_annotations(monkeypatch):
    model = build(seed=5).eval()
    with torch.inference_mode():
        _, size = rows_of(model)
        with hoisted([model], 1):
            assert rows_of(model)[1] == size
        monkeypatch.setattr(module, "POSITIONS", 2)
        with hoisted([model], K):
            assert rows_of(model, (5, 4))[1] == size
            assert rows_of(model, (4, 4))[1] > size


class Doubled(BahdanauAttention):
    """It says nothing of what its own step does with the annotations."""

    def step(self, query, prepared, state):
        context, weights, state = super().step(query, prepared, state)
        return 2 * context, weights, state


class Watched(CGRUDecoder):
    """The same of the context."""

    def advance(self, projected, state, given=None):
        (s, c), weights, state = super().advance(projected, state, given)
        return (s + c.sum(dim=1, keepdim=True), c), weights, state


class Halved(DeepReadout):
    """The same, of the readout."""

    def join(self, features, projected):
        s, c = features
        return super().join((s, c / 2), projected)


@pytest.mark.parametrize(
    "changes", [{"attention": partial(Doubled, size=6)}, {"decoder": Watched}, {"readout": Halved}]
)
def test_a_class_that_overrides_the_step_has_to_say_so_anew(changes):
    model = build(seed=5, **changes).eval()
    with torch.inference_mode():
        expected, size = rows_of(model)
        with hoisted([model], K):
            found, width = rows_of(model)
    assert width == size
    assert torch.equal(found, expected)


def test_sums_as_wide_as_a_context_would_be_taken_for_one():
    model = build(decoder_size=2, embedding_size=2, encoder_size=4, seed=5).eval()
    assert sum(layer.out_features for layer in module._context_layers(model)) == 8
    with torch.inference_mode():
        expected, _ = rows_of(model)
        with hoisted([model], K):
            assert left_behind(model) == []
            assert torch.equal(rows_of(model)[0], expected)


def test_nothing_is_left_after_an_error():
    model = build(seed=5).eval()
    with pytest.raises(ZeroDivisionError), hoisted([model], K):
        raise ZeroDivisionError
    assert left_behind(model) == []
