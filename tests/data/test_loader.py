from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.batch import make_batch, make_source_batch
from unrolled.data.loader import BatchLoader, encode_pairs, encode_sentences, encode_source, share
from unrolled.data.sampler import TokenBudgetBatches
from unrolled.data.store import TokenStore, write
from unrolled.errors import UserError
from unrolled.text.tokenizer import WordTokenizer, train_words
from unrolled.text.tokens import BOS, EOS, PAD

SENTENCES = 61


def test_known_alignments_stand_where_the_pieces_do():
    links = [[0, 1, 1], [], [2, 0, 2, 1, 0, 2]]  # (source, target, n)
    batch = make_batch([[7], [7, 8], [7, 8, 9]], [[5, 6], [5], [6]], [0, 1, 2], links)
    expected = torch.zeros(3, 3, 4)
    expected[0, 1, 0] = 1
    expected[2, 0, [1, 2]] = 0.5
    assert torch.equal(batch.known, expected)
    assert batch.known.shape == (*batch.target_out.shape, batch.source.shape[1])
    assert batch.to("meta").known.device.type == "meta"
    assert make_batch([[7]], [[5]], [0]).known is None


def test_rows_have_their_special_tokens_and_padding():
    batch = make_batch([[7, 8, 9], []], [[5], [6, 4]], [11, 3])
    assert batch.source.tolist() == [[7, 8, 9, EOS], [EOS, PAD, PAD, PAD]]
    assert batch.target.tolist() == [[BOS, 5, EOS, PAD], [BOS, 6, 4, EOS]]
    assert batch.source_lengths.tolist() == batch.source_valid.sum(1).tolist() == [4, 1]
    assert batch.target_lengths.tolist() == batch.target_valid.sum(1).tolist() == [3, 4]
    assert batch.target_in.tolist() == [[BOS, 5, EOS], [BOS, 6, 4]]
    assert batch.target_out.tolist() == [[5, EOS, PAD], [6, 4, EOS]]
    assert batch.target_out_valid.tolist() == [[True, True, False], [True, True, True]]
    assert batch.index.tolist() == [11, 3]
    assert len(batch) == 2
    tensors = (batch.source, batch.source_lengths, batch.target, batch.target_lengths, batch.index)
    assert {tensor.dtype for tensor in tensors} == {torch.int64}


def test_monolingual_batches_have_no_source():
    batch = make_batch(None, [[5]], [0])
    assert batch.source is None
    assert batch.source_lengths is None
    assert batch.to("meta").source is None
    with pytest.raises(TypeError, match="no source"):
        batch.source_valid  # noqa: B018


def test_lengths_and_index_stay_on_the_cpu():
    for batch in (make_batch([[7]], [[5]], [0]), make_source_batch([[7]], [0])):
        there = batch.to("meta", non_blocking=True)
        assert {there.source.device.type, there.target.device.type} == {"meta"}
        assert {each.device.type for each in (there.source_lengths, there.target_lengths, there.index)} == {"cpu"}


@pytest.fixture
def loaders(tmp_path):
    return small_corpus(tmp_path)


def small_corpus(folder):
    """A function that makes equal loaders of the odd lines of a small corpus."""
    random = np.random.default_rng(2)
    for side in ("source", "target"):
        sentences = [random.integers(4, 90, random.integers(1, 13)).tolist() for _ in range(SENTENCES)]
        write(folder / side, sentences, vocabulary_size=90)
    source, target = (TokenStore.open(folder / side) for side in ("source", "target"))
    lines = np.arange(1, SENTENCES, 2)

    def make(shuffle=True):
        lengths = source.lengths[lines] + 1, target.lengths[lines] + 1
        batches = TokenBudgetBatches(*lengths, max_tokens=40, shuffle=shuffle, seed=3)
        return BatchLoader(source, target, lines, batches), source, target

    return make


def numbers(batches):
    return [batch.index.tolist() for batch in batches]


def test_a_batch_holds_the_lines_it_says(loaders):
    loader, source, target = loaders()
    seen = []
    for batch in loader:
        for row, line in enumerate(batch.index.tolist()):
            seen.append(line)
            assert batch.source[row, : batch.source_lengths[row]].tolist() == [*source[line], EOS]
            assert batch.target[row, : batch.target_lengths[row]].tolist() == [BOS, *target[line], EOS]
    assert sorted(seen) == list(range(1, SENTENCES, 2))


def test_every_iteration_is_the_next_epoch(loaders):
    loader, _, _ = loaders()
    epochs = [numbers(loader) for _ in range(3)]
    assert {len(epoch) for epoch in epochs} == {len(loader)}
    assert epochs[0] != epochs[1] != epochs[2]
    assert numbers(loaders()[0]) == epochs[0]


def test_an_iteration_left_early_is_not_taken_up_again(loaders):
    loader, _, _ = loaders(shuffle=False)
    begun = iter(loader)
    first = [next(begun).index.tolist() for _ in range(2)]
    again = numbers(loader)
    assert again[:2] == first
    assert len(again) == len(loader)


def test_iterators_that_nobody_uses_change_nothing(loaders):
    loader, other = loaders()[0], loaders()[0]
    iter(loader), iter(loader)
    assert numbers(loader) == numbers(other)


@pytest.mark.parametrize("taken", [1, 4, -1, 0])
def test_a_restored_loader_goes_on_with_exactly_the_same_batches(loaders, taken):
    loader = loaders()[0]
    whole = numbers(loaders()[0])
    taken %= len(loader) + (taken < 0)  # -1: all of them, and the iteration never told that it is over
    numbers(loader)  # the state is of the second epoch
    epoch = iter(loader)
    for _ in range(taken):
        next(epoch)
    state = loader.state_dict()
    rest = numbers(epoch)
    restored = loaders()[0]
    restored.load_state_dict(state)
    iter(restored)  # as a trainer does
    if rest:
        assert numbers(restored) == rest
        assert len(rest) == len(loader) - taken
    assert numbers(restored) == numbers(loader)
    assert numbers(restored) == numbers(loader) != whole


def test_after_a_restored_epoch_iterations_begin_epochs_again(loaders):
    loader = loaders()[0]
    loader.load_state_dict({"epoch": 1, "given": 2})
    next(iter(loader))
    assert len(numbers(loader)) == len(loader)
    assert loader.state_dict()["epoch"] == 2


@settings(max_examples=30)
@given(st.integers(0, 60))
def test_a_loader_restored_anywhere_goes_on_over_epochs(given_before):
    with TemporaryDirectory() as folder:
        make = small_corpus(Path(folder))
        stream = endless(loader := make()[0])
        for _ in range(given_before):
            next(stream)
        state = loader.state_dict()
        expected = numbers(islice(stream, 20))
        restored = make()[0]
        restored.load_state_dict(state)
        assert numbers(islice(endless(restored), 20)) == expected


def endless(loader):
    while True:
        yield from loader


LINES = ["a b c d e", "", "b", "c d", "a a a", "e d c b a b c", "  "]


def test_source_lines_become_batches_that_translation_starts_from():
    tokenizer = train_words(LINES)
    batches = encode_source(tokenizer, LINES, max_tokens=9)
    assert sorted(line for batch in batches for line in batch.index.tolist()) == list(range(len(LINES)))
    for batch in batches:
        assert batch.source.numel() <= 9
        assert batch.target.tolist() == [[BOS]] * len(batch)
        for row, line in enumerate(batch.index.tolist()):
            ids = [*tokenizer.encode(LINES)[line], EOS]
            assert batch.source[row].tolist() == ids + [PAD] * (batch.source.shape[1] - len(ids))
    assert encode_source(tokenizer, [], max_tokens=9) == []


def test_pairs_of_lines_stay_pairs():
    tokenizer = train_words(LINES)
    batches = encode_pairs(tokenizer, tokenizer, LINES, LINES[::-1], max_tokens=11)
    assert len(batches) > 2
    seen = {}
    for batch in batches:
        for row, line in enumerate(batch.index.tolist()):
            seen[line] = tokenizer.decode(batch.source[row].tolist()), tokenizer.decode(batch.target[row].tolist())
    assert [seen[line] for line in range(len(LINES))] == [
        (" ".join(source.split()), " ".join(target.split())) for source, target in zip(LINES, LINES[::-1], strict=True)
    ]
    assert encode_pairs(tokenizer, tokenizer, [], [], max_tokens=9) == []


def test_an_ensemble_reads_the_same_sentences_in_its_members_own_ids():
    """Another vocabulary cuts the sources otherwise; rows, targets and line numbers stay."""
    tokenizer, words = train_words(["a b c d e"]), train_words(["e d a"])
    for batch in encode_pairs(tokenizer, tokenizer, LINES, LINES[::-1], max_tokens=60):
        shared = share(batch, LINES, [words]).to("cpu")
        own, other = shared.members
        assert (shared.target is own.target, shared.index.tolist()) == (True, batch.index.tolist())
        assert torch.equal(other.target, own.target)
        expected = words.encode([LINES[number] for number in batch.index.tolist()])
        found = [row[:length].tolist() for row, length in zip(other.source, other.source_lengths, strict=True)]
        assert found == [[*ids, EOS] for ids in expected]
        assert torch.equal(shared.source_lengths, torch.maximum(own.source_lengths, other.source_lengths))
        assert torch.equal(shared.target_lengths, batch.target_lengths)


@pytest.mark.parametrize("encode", [encode_source, encode_sentences])
def test_a_line_that_would_take_all_memory_is_refused(encode):
    words = WordTokenizer(["a"])
    with pytest.raises(UserError, match=r"a line .*has 100,000 tokens, and a sentence may have at most 10,000"):
        encode(words, ["a a", "a " * 100_000], max_tokens=20)
    assert len(encode(words, ["a a", "a " * 9_999], max_tokens=20)) == 2
