"""Attention that walks keeps its place, in long sentences too."""

from contextlib import nullcontext

import pytest
import torch

from unrolled.models.extrapolating_attention import ExtrapolatingLocationAttention


@pytest.mark.parametrize("half", [None, torch.bfloat16, torch.float16])
def test_one_word_on_at_each_step_leads_to_the_last_of_200_words(half):
    attention, words = ExtrapolatingLocationAttention(query_size=4, annotation_size=4, size=6), 200
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.zero_()
        attention.mean.bias.copy_(torch.tensor([1.0, 1.0, -1.0]))  # a word on, from where it looked
        attention.deviation.bias.fill_(-20.0)
        attention.mixture.bias.fill_(20.0)  # by location alone
    with torch.no_grad(), torch.autocast("cpu", dtype=half) if half else nullcontext():
        prepared = attention.prepare(torch.zeros(1, words, 4), torch.ones(1, words, dtype=torch.bool))
        state, looked = attention.start(prepared), []
        for _ in range(words - 1):
            _, weights, state = attention.step(torch.zeros(1, 4), prepared, state)
            looked.append(int(weights.argmax()))
    assert looked == list(range(1, words))
