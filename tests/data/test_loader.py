import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data import store
from unrolled.data.batch import make_batch
from unrolled.data.loader import BatchLoader, encode_pairs, encode_source
from unrolled.data.sampler import TokenBudgetBatches
from unrolled.data.store import TokenStore
from unrolled.data.tokenizer import BOS, EOS, PAD, train_words


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    random = np.random.default_rng(0)
    made = []
    for side in ("source", "target"):
        sentences = [random.integers(4, 90, size=random.integers(0, 12)).tolist() for _ in range(61)]
        store.write(folder / side, sentences, vocabulary_size=90)
        made.append(TokenStore.open(folder / side))
    return made


def loader_of(stores):
    source, target = stores
    lines = np.arange(3, 61)
    batches = TokenBudgetBatches(
        source.lengths[lines] + 1, target.lengths[lines] + 1, max_tokens=40, shuffle=True, seed=5
    )
    return BatchLoader(source, target, lines, batches)


def same(a, b):
    return torch.equal(a.source, b.source) and torch.equal(a.target, b.target) and torch.equal(a.index, b.index)


def test_a_batch_is_padded_and_framed():
    batch = make_batch([[4, 5], [6]], [[7], [8, 9, 10]], [3, 1])
    assert batch.source.tolist() == [[4, 5, EOS], [6, EOS, PAD]]
    assert batch.source_lengths.tolist() == [3, 2]
    assert batch.target.tolist() == [[BOS, 7, EOS, PAD, PAD], [BOS, 8, 9, 10, EOS]]
    assert batch.target_in.tolist() == [[BOS, 7, EOS, PAD], [BOS, 8, 9, 10]]
    assert batch.target_out.tolist() == [[7, EOS, PAD, PAD], [8, 9, 10, EOS]]
    assert batch.target_out_valid.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.source_valid.tolist() == [[True] * 3, [True, True, False]]
    assert batch.index.tolist() == [3, 1]


def test_lengths_stay_on_the_cpu():
    batch = make_batch([[4]], [[5]], [0]).to("meta")
    assert batch.source.is_meta
    assert batch.target.is_meta
    assert batch.source_lengths.device.type == batch.target_lengths.device.type == batch.index.device.type == "cpu"


def test_rows_are_the_sentences_that_the_index_names(stores):
    source, target = stores
    seen = []
    for batch in loader_of(stores):
        for row, line in enumerate(batch.index.tolist()):
            ids = batch.source[row, : batch.source_lengths[row]].tolist()
            assert ids == [*source[line].tolist(), EOS]
            ids = batch.target[row, : batch.target_lengths[row]].tolist()
            assert ids == [BOS, *target[line].tolist(), EOS]
            seen.append(line)
    assert sorted(seen) == list(range(3, 61))


def test_iterating_again_gives_another_order_and_a_fresh_loader_the_same(stores):
    loader = loader_of(stores)
    first, second = list(loader), list(loader)
    assert len(first) == len(second) == len(loader)
    assert not all(same(a, b) for a, b in zip(first, second, strict=True))
    again = loader_of(stores)
    assert all(same(a, b) for a, b in zip(first + second, [*again, *again], strict=True))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 60))
def test_a_loader_restored_anywhere_goes_on_with_the_same_batches(stores, given_before):
    def endless(loader):
        while True:
            yield from loader

    loader = loader_of(stores)
    stream = endless(loader)
    for _ in range(given_before):
        next(stream)
    state = loader.state_dict()
    expected = [next(stream) for _ in range(20)]
    restored = loader_of(stores)
    restored.load_state_dict(state)
    stream = endless(restored)
    assert all(same(a, next(stream)) for a in expected)


def test_text_becomes_batches_that_know_their_lines():
    tokenizer = train_words(["a b c d e"])
    lines = ["a b c", "", "d", "e e e e e", "a"]
    batches = encode_source(tokenizer, lines, max_tokens=8)
    assert sorted(line for batch in batches for line in batch.index.tolist()) == [0, 1, 2, 3, 4]
    for batch in batches:
        assert batch.target.tolist() == [[BOS]] * len(batch)
        for row, line in enumerate(batch.index.tolist()):
            ids = batch.source[row, : batch.source_lengths[row] - 1].tolist()
            assert tokenizer.decode(ids) == lines[line]
    (pair,) = encode_pairs(tokenizer, tokenizer, ["a b"], ["c"], max_tokens=1)
    assert tokenizer.decode(pair.target[0].tolist()) == "c"
