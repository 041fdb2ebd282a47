"""A continuous text: every word once, in order, each row going on where it ended."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.continuous import ContinuousText, StreamLoader
from unrolled.data.store import TokenStore
from unrolled.errors import UserError
from unrolled.text.tokens import BOS, EOS, PAD

LINES = st.lists(st.lists(st.integers(4, 50), max_size=6), min_size=1, max_size=12)


def store_of(lines):
    flat = [word for line in lines for word in line]
    offsets = np.cumsum([0, *map(len, lines)])
    return TokenStore(np.array(flat, dtype=np.uint16), offsets.astype(np.int64))


def text_of(lines):
    return [word for line in lines for word in (*line, EOS)]


@given(lines=LINES, data=st.data())
def test_any_part_of_the_text_is_what_the_lines_say(lines, data):
    text, expected = ContinuousText(store_of(lines)), text_of(lines)
    assert len(text) == len(expected)
    start = data.draw(st.integers(0, len(expected)))
    stop = data.draw(st.integers(start, len(expected) + 3))
    assert text[start:stop].tolist() == expected[start:stop]


@given(lines=LINES, rows=st.integers(1, 5), steps=st.integers(1, 7), ranks=st.sampled_from([1, 2]))
def test_every_word_is_read_once_and_after_the_word_before(lines, rows, steps, ranks):
    text = text_of(lines)
    rows *= ranks
    if rows > len(text):
        with pytest.raises(UserError, match=f"data.stream_rows={rows} is more than the text has tokens"):
            StreamLoader(store_of(lines), rows=rows, steps=steps)
        return
    loaders = [StreamLoader(store_of(lines), rows=rows, steps=steps, rank=r, world_size=ranks) for r in range(ranks)]
    batches = [list(loader) for loader in loaders]
    assert {len(each) for each in batches} == {len(loaders[0])}
    assert [batch.first for batch in batches[0]] == [True] + [False] * (len(batches[0]) - 1)
    out = torch.cat([torch.cat([b.target_out for b in each], dim=1) for each in batches])
    read = torch.cat([torch.cat([b.target_in for b in each], dim=1) for each in batches])
    valid = torch.cat([torch.cat([b.target_out_valid for b in each], dim=1) for each in batches])
    assert out.shape == read.shape == (rows, -(-len(text) // rows))
    assert out[valid].tolist() == text
    before = [BOS, *(BOS if word == EOS else word for word in text[:-1])]
    assert read[valid].tolist() == before
    assert set(out[~valid].tolist()) <= {PAD}
    assert all(batch.target_out.shape[1] <= steps for batch in batches[0])


def test_a_loader_goes_on_where_the_saved_one_was():
    lines = [[4, 5, 6], [], [7, 8], [9, 10, 11, 12]]
    whole, half, rest = (StreamLoader(store_of(lines), rows=2, steps=2) for _ in range(3))
    expected = [batch.target_out.tolist() for batch in whole]
    batches = iter(half)
    assert [next(batches).target_out.tolist() for _ in range(2)] == expected[:2]
    rest.load_state_dict(half.state_dict())
    assert [batch.target_out.tolist() for batch in rest] == expected[2:]
    assert [batch.target_out.tolist() for batch in rest] == expected  # the next epoch is whole again


def test_rows_that_ranks_do_not_divide_are_refused():
    with pytest.raises(UserError, match=r"data\.stream_rows=3 cannot be divided among 2"):
        StreamLoader(store_of([[4, 5, 6, 7]]), rows=3, steps=2, world_size=2)
