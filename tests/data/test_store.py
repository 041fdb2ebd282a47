import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.store import TokenStore, write
from unrolled.errors import UserError


@given(
    st.sampled_from([7, 2**16, 2**16 + 1, 2**20]).flatmap(
        lambda size: st.tuples(st.just(size), st.lists(st.lists(st.integers(0, size - 1)), min_size=0))
    )
)
def test_what_is_written_is_read(drawn):
    size, sentences = drawn
    with TemporaryDirectory() as folder:
        write(Path(folder) / "ids", iter(sentences), vocabulary_size=size)
        store = TokenStore.open(Path(folder) / "ids")
        assert [store[number].tolist() for number in range(len(store))] == sentences
        assert store.lengths.tolist() == [len(ids) for ids in sentences]
        assert store.lengths.dtype == np.int32


@pytest.mark.parametrize(("size", "bytes_of_an_id"), [(2**16, 2), (2**16 + 1, 4)])
def test_small_vocabularies_take_two_bytes_an_id(tmp_path, size, bytes_of_an_id):
    write(tmp_path / "ids", [[1] * 5000], vocabulary_size=size)
    assert 0 <= (tmp_path / "ids").stat().st_size - 5000 * bytes_of_an_id < 100


def test_every_id_is_counted_however_many_are_looked_at_together(tmp_path, monkeypatch):
    monkeypatch.setattr("unrolled.data.store.COUNTED", 2)
    write(tmp_path / "ids", [[3, 4, 3], [], [6, 3]], vocabulary_size=8)
    assert TokenStore.open(tmp_path / "ids").counts(8).tolist() == [0, 0, 0, 3, 1, 0, 1, 0]


def test_an_id_outside_the_vocabulary_s_type_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(OverflowError):
        write(tmp_path / "ids", [[3, 4], [2**16]], vocabulary_size=100)
    assert list(tmp_path.iterdir()) == []


def test_a_store_cut_short_is_a_mistake(tmp_path):
    write(tmp_path / "ids", [[3, 4, 5]] * 99, vocabulary_size=100)
    data = (tmp_path / "ids").read_bytes()
    for part in (data[:-8], data[:20], b"something else, of some length, that is no store of ids at all"):
        (tmp_path / "ids").write_bytes(part)
        with pytest.raises(UserError, match="delete it"):
            TokenStore.open(tmp_path / "ids")


def test_opening_a_large_store_reads_next_to_nothing(tmp_path):
    sentences = 200_000
    write(tmp_path / "ids", (range(4, 4 + number % 31) for number in range(sentences)), vocabulary_size=100)
    tracemalloc.start()
    try:
        store = TokenStore.open(tmp_path / "ids")
        middle = store[123_457]
        _, peak = tracemalloc.get_traced_memory()
        assert len(store.lengths) == sentences
        _, peak_of_lengths = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert middle.tolist() == [*range(4, 4 + 123_457 % 31)]
    assert peak < 50_000
    assert peak_of_lengths > peak  # what is read is noticed
