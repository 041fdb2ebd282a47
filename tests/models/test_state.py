"""State is a nested tuple of tensors, the batch first; nothing is hidden on modules."""

import torch
from support.small_models import (
    SOURCE_WORDS,
    TARGET_WORDS,
    S,
    batch_of,
    build,
    build_lm,
    flatten,
    words,
)

LENGTHS = [3, S, 2]
# a beam's reordering: a row lost, one doubled, the order changed
INDEX = torch.tensor([2, 0, 2, 2])


def is_nested_tuple_of_batches(state, rows):
    if isinstance(state, torch.Tensor):
        return state.shape[0] == rows
    return isinstance(state, tuple) and all(is_nested_tuple_of_batches(part, rows) for part in state)


def test_nothing_is_kept_on_the_modules():
    """Two interleaved sentences do not see each other: all state is in the tuples."""
    model = build("cgru", "gru_att", seed=30)
    tokens = torch.tensor(words([1], TARGET_WORDS)[0])
    alone = model.start(batch_of(words([S], SOURCE_WORDS)))
    other = model.start(batch_of(words([3], SOURCE_WORDS, seed=1)))
    before = [leaf.clone() for leaf in flatten(alone)]
    expected, _ = model.step(tokens, alone)
    _, other = model.step(tokens, other)
    model.step(tokens, other)
    again, _ = model.step(tokens, alone)
    assert torch.equal(expected, again)
    assert all(torch.equal(a, b) for a, b in zip(before, flatten(alone), strict=True))


def test_language_model_starts_with_a_row_for_each_target():
    class Batch:
        target = torch.zeros(5, 3, dtype=torch.int64)

    assert is_nested_tuple_of_batches(build_lm("lstm").start(Batch()), 5)
