"""Each step can be left out of a search: the names that the benchmark replaces exist, and the result stays the same."""

from contextlib import ExitStack

import pytest
import search_steps
import torch
from support.small_models import SOURCE_WORDS, batch_of, build, words

from unrolled.models.fast import siblings
from unrolled.search.beam import beam_search
from unrolled.search.length import PerToken


@pytest.mark.parametrize("step", search_steps.WITHOUT)
def test_the_same_search_without(step, monkeypatch):
    monkeypatch.setattr(siblings, "COPIED", 0)
    model, batch = build(seed=7).eval(), batch_of(words((4, 2), SOURCE_WORDS, seed=3))
    lengths = torch.tensor([6, 6])

    def search():
        found = beam_search(model, batch, beam_size=3, max_lengths=lengths, min_lengths=lengths, score=PerToken())
        return [row[0].tokens for row in found], [row[0].log_probability for row in found]

    tokens, log_p = search()
    with ExitStack() as patches:
        for patch in search_steps.WITHOUT[step]:
            patches.enter_context(patch)
        without = search()
    assert without[0] == tokens
    assert without[1] == pytest.approx(log_p, abs=1e-9)
