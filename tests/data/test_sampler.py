import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.sampler import TokenBudgetBatches
from unrolled.errors import UserError

pairs = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=150)
budgets = st.integers(1, 120)


def batches_of(lengths, *, max_tokens, source=True, **options):
    source_lengths, target_lengths = np.array(lengths).T
    options = {"shuffle": True, "seed": 0} | options
    return TokenBudgetBatches(source_lengths if source else None, target_lengths, max_tokens=max_tokens, **options)


def epoch_of_all_ranks(lengths, world_size, epoch, **options):
    ranks = [batches_of(lengths, rank=rank, world_size=world_size, **options) for rank in range(world_size)]
    epochs = [batches.epoch(epoch) for batches in ranks]
    assert {len(batches) for batches in epochs} == {len(ranks[0])}
    return [batch.tolist() for batches in epochs for batch in batches]


@given(pairs, budgets, st.integers(1, 4), st.integers(0, 3), st.booleans(), st.booleans())
def test_all_ranks_together_have_every_sentence_once(lengths, max_tokens, world_size, epoch, shuffle, source):
    try:
        batches = epoch_of_all_ranks(
            lengths, world_size, epoch, max_tokens=max_tokens, shuffle=shuffle, source=source, seed=5
        )
    except UserError:
        # there are too few sentences to give every rank as many batches, however they are cut
        most = len(batches_of(lengths, max_tokens=max_tokens, source=source))
        assert len(lengths) < -(-most // world_size) * world_size
        return
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    assert all(batches)


@given(pairs, budgets, st.integers(1, 4), st.one_of(st.none(), st.integers(1, 9)), st.booleans())
def test_no_batch_is_above_its_budget_but_for_single_sentences(lengths, max_tokens, world_size, sentences, source):
    lengths = lengths * 5
    options = {"max_tokens": max_tokens, "max_sentences": sentences, "source": source}
    try:
        batches = epoch_of_all_ranks(lengths, world_size, 1, **options)
    except UserError:
        return
    for batch in batches:
        sides = np.array(lengths)[batch] if source else np.array(lengths)[batch][:, 1:]
        assert len(batch) == 1 or len(batch) * sides.max() <= max_tokens
        assert sentences is None or len(batch) <= sentences


@given(pairs, budgets)
def test_batches_are_as_full_as_their_order_allows(lengths, max_tokens):
    """One more sentence, the next batch's first, would be too many."""
    batches = batches_of(lengths, max_tokens=max_tokens, shuffle=False).epoch(0)
    for batch, following in pairwise(batches):
        sides = np.array(lengths)[[*batch, following[0]]]
        assert len(sides) * sides.max() > max_tokens


@given(pairs, budgets, st.integers(0, 9), st.integers(0, 9))
def test_seed_and_epoch_decide_everything(lengths, max_tokens, seed, epoch):
    first, second = (batches_of(lengths, max_tokens=max_tokens, seed=seed) for _ in range(2))
    second.epoch(epoch + 1)  # nothing is carried over
    for one, other in zip(first.epoch(epoch), second.epoch(epoch), strict=True):
        assert one.tolist() == other.tolist()


def test_other_seeds_and_epochs_have_other_batches():
    lengths = np.random.default_rng(3).integers(1, 20, (997, 2))
    base = batches_of(lengths, max_tokens=100, seed=1)
    others = [base.epoch(1), batches_of(lengths, max_tokens=100, seed=2).epoch(0)]
    for other in others:
        assert {frozenset(batch) for batch in base.epoch(0)} != {frozenset(batch) for batch in other}
        assert [len(batch) for batch in base.epoch(0)] != [len(batch) for batch in other]
        assert len(base) == len(other)


def test_without_shuffling_epochs_are_alike_and_lengths_rise():
    lengths = np.random.default_rng(3).integers(1, 20, (997, 2))
    batches = batches_of(lengths, max_tokens=100, shuffle=False)
    order = np.concatenate(batches.epoch(0))
    assert order.tolist() == np.concatenate(batches.epoch(1)).tolist()
    assert (np.diff(lengths[order, 1]) >= 0).all()


def test_source_lengths_go_up_and_down_in_turn():
    """So that neighbours where the target length changes have similar source lengths."""
    pairs = [(source, target) for target in (4, 5, 6) for source in (9, 2, 7)]
    source, target = (np.array(side) for side in zip(*pairs, strict=True))
    batches = TokenBudgetBatches(source, target, max_tokens=10**6, shuffle=False, seed=0).epoch(0)
    assert [pairs[number] for batch in batches for number in batch] == [
        *((2, 4), (7, 4), (9, 4)),
        *((9, 5), (7, 5), (2, 5)),
        *((2, 6), (7, 6), (9, 6)),
    ]


def test_ranks_work_on_similar_lengths_at_the_same_time():
    lengths = np.random.default_rng(3).integers(1, 60, (4001, 2))
    ranks = [batches_of(lengths, max_tokens=400, rank=rank, world_size=4).epoch(2) for rank in range(4)]
    longest = np.array([[lengths[batch, 1].max() for batch in rank] for rank in ranks])
    assert np.ptp(longest, axis=0).mean() < 2
    assert np.ptp(longest[0]) > 40


def test_a_pair_longer_than_the_budget_is_a_batch_alone():
    batches = batches_of([(2, 2), (30, 2), (2, 31), (2, 2)], max_tokens=8).epoch(0)
    assert sorted(batch.tolist() for batch in batches if len(batch) == 1) == [[1], [2]]


def test_fewer_sentences_than_ranks_are_a_mistake():
    with pytest.raises(UserError, match=r"3 sentences.* 4 processes"):
        batches_of([(2, 2)] * 3, max_tokens=100, world_size=4)


@given(pairs, budgets, st.booleans())
def test_the_padding_share_is_that_of_the_batches(lengths, max_tokens, source):
    batches = batches_of(lengths, max_tokens=max_tokens, source=source)
    for side, share in enumerate(batches.padding_share()):
        if side == 0 and not source:
            assert share is None
            continue
        positions = sum(len(batch) * max(lengths[number][side] for number in batch) for batch in batches.epoch(3))
        real = sum(pair[side] for pair in lengths)
        assert share == pytest.approx(1 - real / positions, abs=1e-12)


def test_time_grows_as_the_corpus_does():
    seconds = []
    for sentences in (30_000, 300_000):
        lengths = np.random.default_rng(3).integers(1, 60, (sentences, 2))
        start = time.process_time()
        assert sum(map(len, batches_of(lengths, max_tokens=400).epoch(0))) == sentences
        seconds.append(time.process_time() - start)
    assert seconds[1] < 30 * seconds[0]
