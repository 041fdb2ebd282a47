"""Padding, the company of other sentences, and what is to come change nothing."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_models import (
    CELLS,
    TARGET_WORDS,
    D,
    S,
    build_lm,
    pad,
    words,
)

TINY = 1e-12
lengths_in_any_order = st.lists(st.integers(1, S), min_size=1, max_size=4)
few = settings(max_examples=6)


@few
@given(lengths=lengths_in_any_order)
@pytest.mark.parametrize("cell", CELLS)
def test_language_model_padding_and_company_change_nothing(cell, lengths):
    model = build_lm(cell, seed=33)
    sentences = words(lengths, TARGET_WORDS)
    tokens, _ = pad(sentences, length=max(lengths) + 1)
    together, _ = model(tokens, model.zero_state(len(lengths)))
    for row, sentence in enumerate(sentences):
        alone, _ = model(torch.tensor([sentence]), model.zero_state(1))
        assert alone.shape == (1, len(sentence), D)
        torch.testing.assert_close(together[row, : len(sentence)], alone[0], rtol=0, atol=TINY)
