import mmap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data import store
from unrolled.data.store import TokenStore
from unrolled.errors import UserError


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 65_535), max_size=9), min_size=1, max_size=20), st.sampled_from([65_536, 65_537])
)
def test_what_is_written_is_read_again(tmp_path_factory, sentences, size):
    path = tmp_path_factory.mktemp("store") / "ids"
    store.write(path, iter(sentences), vocabulary_size=size)
    opened = TokenStore.open(path)
    assert len(opened) == len(sentences)
    assert [opened[i].tolist() for i in range(len(opened))] == sentences
    assert opened.lengths.tolist() == [len(ids) for ids in sentences]
    assert opened[0].dtype == (np.uint16 if size == 65_536 else np.int32)


def test_sentences_are_mapped_not_read(tmp_path):
    store.write(tmp_path / "ids", ([i % 50] * 20 for i in range(200_000)), vocabulary_size=100)
    opened = TokenStore.open(tmp_path / "ids")
    base = opened[7]
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base.base, mmap.mmap) or isinstance(base, np.memmap)
    assert opened[199_999].tolist() == [199_999 % 50] * 20


def test_a_file_cut_short_is_refused(tmp_path):
    store.write(tmp_path / "ids", [[1, 2, 3]], vocabulary_size=10)
    whole = (tmp_path / "ids").read_bytes()
    (tmp_path / "ids").write_bytes(whole[:-5])
    with pytest.raises(UserError, match="not a whole file"):
        TokenStore.open(tmp_path / "ids")


def test_a_failure_leaves_no_file(tmp_path):
    def broken():
        yield [1]
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        store.write(tmp_path / "ids", broken(), vocabulary_size=10)
    assert list(tmp_path.iterdir()) == []
