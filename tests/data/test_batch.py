"""Batches against the sentences that they are made of."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.batch import make_batch
from unrolled.text.tokens import BOS, EOS, PAD

SENTENCES = st.lists(st.integers(4, 60_000), max_size=7)


@st.composite
def texts(draw):
    """Sources and targets, and links of their pieces, as [source, target, number of the target's links]."""
    pairs = draw(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=5))
    links = []
    for source, target in pairs:
        cells = [(j, i) for i in range(len(target) + 1) for j in range(len(source) + 1)]
        chosen = draw(st.lists(st.sampled_from(cells), unique=True, max_size=6))
        links.append([(j, i, sum(i == other for _, other in chosen)) for j, i in chosen])
    return [source for source, _ in pairs], [target for _, target in pairs], links


@given(texts(), st.sampled_from([list, lambda ids: np.array(ids, dtype=np.uint16)]))
def test_each_row_is_its_sentence_and_its_links(text, stored):
    sources, targets, links = text
    flat = [stored([number for link in links_of_one for number in link]) for links_of_one in links]
    batch = make_batch([stored(ids) for ids in sources], [stored(ids) for ids in targets], range(len(sources)), flat)
    longest = max(map(len, sources)) + 1, max(map(len, targets)) + 2
    assert (batch.source.shape[1], batch.target.shape[1]) == longest
    assert batch.known.shape == (len(sources), longest[1] - 1, longest[0])
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert batch.source[row].tolist() == [*source, EOS] + [PAD] * (longest[0] - len(source) - 1)
        assert batch.target[row].tolist() == [BOS, *target, EOS] + [PAD] * (longest[1] - len(target) - 2)
        known = torch.zeros(batch.known.shape[1:])
        for j, i, n in links[row]:
            known[i, j] = 1 / n
        torch.testing.assert_close(batch.known[row], known, rtol=0, atol=0)
    assert batch.source_lengths.tolist() == [len(ids) + 1 for ids in sources]
    assert batch.target_lengths.tolist() == [len(ids) + 2 for ids in targets]
    assert {batch.source.dtype, batch.target.dtype, batch.source_lengths.dtype} == {torch.int64}


@pytest.mark.parametrize("lengths", [[0], [0, 3], [3, 0, 0]])
def test_empty_sentences_have_only_special_tokens(lengths):
    batch = make_batch(None, [list(range(4, 4 + length)) for length in lengths], range(len(lengths)))
    assert batch.target_lengths.tolist() == [length + 2 for length in lengths]
    assert batch.target[lengths.index(0), :2].tolist() == [BOS, EOS]
