"""An .npz file that grows: NumPy reads what was added, in order; an error leaves what was written."""

import numpy as np
import pytest

from unrolled.inference.matrices import MatrixFile

ADDED = [np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((1, 5), np.float32), np.zeros((0, 2), np.float32)]


def read(path):
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def test_matrices_are_numbered_as_they_are_added(tmp_path):
    with MatrixFile(tmp_path / "w.npz") as matrices:
        matrices.add(ADDED[:2])
        matrices.add(ADDED[2:])
    stored = read(tmp_path / "w.npz")
    assert list(stored) == ["0", "1", "2"]
    for one, other in zip(stored.values(), ADDED, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_was_written_before_an_error_can_be_read(tmp_path):
    def wrong():
        yield ADDED[0]
        raise ValueError("later")

    with pytest.raises(ValueError, match="later"), MatrixFile(tmp_path / "w.npz") as matrices:
        matrices.add(wrong())
    np.testing.assert_array_equal(read(tmp_path / "w.npz")["0"], ADDED[0])
