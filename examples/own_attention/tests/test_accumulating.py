"""Everything that unrolled promises of an attention, and the equation by hand."""

import pytest
import torch
from own_attention.accumulating import AccumulatingAttention

from unrolled.configuration.build import build_subject
from unrolled.configuration.composition import composed
from unrolled.conformance.promises import PROMISES
from unrolled.conformance.subject import NothingToTry


@pytest.mark.parametrize("model", ["cgru", "rnnsearch", "bahdanau"])
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_it_keeps_every_promise(promise, model):
    subject = build_subject(composed("check", ["attention=accumulating", f"model={model}"]))
    try:
        promise(subject)
    except NothingToTry:
        # it has no backward pass of its own, and is no language model
        assert promise.__name__ in {"kernel_equals_step", "a_text_is_the_same_in_parts"}


def test_two_steps_by_hand():
    attention = AccumulatingAttention(query_size=2, annotation_size=3, size=5)
    annotations, queries = torch.randn(1, 4, 3), torch.randn(2, 1, 2)
    prepared = attention.prepare(annotations, torch.ones(1, 4, dtype=torch.bool))
    state, received = attention.start(prepared), torch.zeros(4)
    for query in queries:
        context, weights, state = attention.step(query, prepared, state)
        # the equation, position by position
        energies = [
            attention.energy(torch.tanh(attention.query(query[0]) + attention.keys(h) + attention.received(c[None])))
            for h, c in zip(annotations[0], received, strict=True)
        ]
        alpha = torch.softmax(torch.cat(energies), dim=0)
        torch.testing.assert_close(weights[0], alpha)
        torch.testing.assert_close(context[0], alpha @ annotations[0])
        received = received + alpha
