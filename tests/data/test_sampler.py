import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.sampler import TokenBudgetBatches
from unrolled.errors import UserError

LENGTHS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=8, max_size=80)


def batches_of(pairs, monolingual=False, **options):
    source, target = (np.array(side) for side in zip(*pairs, strict=True))
    return TokenBudgetBatches(None if monolingual else source, target, **{"seed": 1, "shuffle": True, **options})


@settings(max_examples=100)
@given(LENGTHS, st.integers(1, 4), st.integers(60, 200), st.integers(0, 5), st.booleans(), st.booleans())
def test_every_sentence_once_over_all_ranks_within_the_budget(pairs, ranks, budget, epoch, shuffle, monolingual):
    per_rank = [
        batches_of(pairs, monolingual, max_tokens=budget, shuffle=shuffle, rank=rank, world_size=ranks)
        for rank in range(ranks)
    ]
    plans = [batches.epoch(epoch) for batches in per_rank]
    assert len({len(plan) for plan in plans}) == 1
    assert [len(batches) for batches in per_rank] == [len(plan) for plan in plans]
    assert sorted(int(i) for plan in plans for batch in plan for i in batch) == list(range(len(pairs)))
    for plan in plans:
        for batch in plan:
            sides = [pairs[i][1:] if monolingual else pairs[i] for i in batch]
            assert len(batch) == 1 or len(batch) * max(max(side) for side in sides) <= budget


@given(LENGTHS)
@settings(max_examples=20)
def test_the_seed_and_the_epoch_decide_and_nothing_else(pairs):
    def plan(seed, epoch):
        return [batch.tolist() for batch in batches_of(pairs, max_tokens=50, seed=seed).epoch(epoch)]

    assert plan(3, 2) == plan(3, 2)
    distinct = [(1 + i, 1 + i) for i in range(12)]
    orders = {str([b.tolist() for b in batches_of(distinct, max_tokens=24, seed=s).epoch(e)]) for s, e in
              [(0, 0), (0, 1), (1, 0), (1, 1)]}  # fmt: skip
    assert len(orders) == 4


def test_max_sentences_bounds_the_rows():
    plan = batches_of([(2, 2)] * 20, max_tokens=1000, max_sentences=3).epoch(0)
    assert max(len(batch) for batch in plan) == 3


def test_a_sentence_over_the_budget_is_a_batch_of_its_own():
    plan = batches_of([(99, 2), (2, 2), (2, 2)], max_tokens=10).epoch(0)
    assert [0] in [batch.tolist() for batch in plan]


def test_more_ranks_than_sentences_is_a_users_mistake():
    with pytest.raises(UserError, match="fewer processes"):
        batches_of([(2, 2)] * 2, max_tokens=10, world_size=3)


def test_the_padding_share_is_that_of_the_batches():
    pairs = [(i % 7 + 1, i % 11 + 1) for i in range(100)]
    batches = batches_of(pairs, max_tokens=40)
    source, target = batches.padding_share()
    plan = batches.epoch(0)
    for side, share in ((0, source), (1, target)):
        positions = sum(len(batch) * max(pairs[i][side] for i in batch) for batch in plan)
        assert share == pytest.approx(1 - sum(pair[side] for pair in pairs) / positions)


def test_multi30k_leaves_less_than_8_percent_of_target_positions_as_padding():
    root = Path(os.environ.get("UNROLLED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "multi30k-tok"
    if not root.is_dir():
        pytest.skip(f"no Multi30k at {root}; set UNROLLED_DATA")
    texts = [(root / f"train.{side}").read_text(encoding="utf-8") for side in ("en", "de")]
    sides = [[len(line.split()) + 1 for line in text.split("\n")] for text in texts]
    source, target = TokenBudgetBatches(
        np.array(sides[0]), np.array(sides[1]), max_tokens=2000, shuffle=True, seed=1
    ).padding_share()
    assert target < 0.08
    assert source < 0.12
