"""The examples of a probe are what the links say, counted out by hand."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inference.translated_words import examples, joined

few = settings(max_examples=25)


def pair_of(source_words, target_words, size=3, seed=0):
    draw = torch.Generator().manual_seed(seed)
    shape = len(target_words) + 1, len(source_words) + 1  # with </s>
    weights = torch.rand(shape, generator=draw).softmax(dim=1)
    memory = torch.randn(*shape, size, generator=draw)
    names = [str(word) for word in source_words], [str(word) for word in target_words]
    return AttendedPair(
        [*names[0], "</s>"], [*names[1], "</s>"], weights, source_words, target_words, memory=memory, gates={}
    )


def test_examples_of_a_pair():
    pair = pair_of([0, 1, 1, 2], [0, 0, 1])  # word 1 of the source and word 0 of the target are two pieces
    found = examples(pair, {(1, 0), (0, 1), (1, 1)})
    # after target word 0, then 1: the source words 0 and 1, as 2 has no link; word 1 is done when its last link is
    assert found.translated.tolist() == [False, False, True, True]
    assert found.distance.tolist() == [1, 1, 1, 1]
    assert found.place.tolist() == [[0, 0, 0, 3], [0, 1, -1, 3], [1, 0, 1, 3], [1, 1, 0, 3]]
    np.testing.assert_allclose(found.memory[1], pair.memory[1, 1:3].mean(dim=0), atol=1e-6)
    np.testing.assert_allclose(found.memory[2], pair.memory[2, 0], atol=1e-6)
    np.testing.assert_allclose(found.received[1], [pair.weights[:2, 1:3].sum()], atol=1e-6)
    np.testing.assert_allclose(found.received[3], [pair.weights[:3, 1:3].sum()], atol=1e-6)


@few
@given(
    links=st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1),
    seed=st.integers(0, 9),
)
def test_a_word_is_translated_when_none_of_its_links_is_ahead(links, seed):
    found = examples(pair_of(list(range(5)), list(range(6)), seed=seed), links)
    sources = sorted({source for source, _ in links})
    expected, distances = [], []
    for i in range(6):
        for j in sources:
            ahead = [target - i for source, target in links if source == j and target > i]
            since = [i - target for source, target in links if source == j]
            expected.append(not ahead)
            distances.append(max(ahead) if ahead else min(since) + 1)
    assert found.translated.tolist() == expected
    assert found.distance.tolist() == distances
    twice = joined([found, found])
    assert len(twice.translated) == len(twice.memory) == 12 * len(sources)
