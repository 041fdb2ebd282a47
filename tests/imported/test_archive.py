"""Whatever an .npz holds, it is numbers or one clear line; nothing in it is executed."""

import io
import pickle
import zipfile

import numpy as np
import pytest

from unrolled.errors import UserError
from unrolled.imported import archive
from unrolled.imported.archive import Archive, check_shapes


class Bomb:
    """Pickled, it writes a file when somebody opens it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def write(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_numbers_are_read_in_float64_whatever_the_precision_and_byte_order(tmp_path):
    arrays = {"a": np.float32([[1.5, 2]]), "b": np.array([0.1], dtype=">f8"), "c": np.float16([3, 4, 5])}
    np.savez_compressed(tmp_path / "x.npz", **arrays)
    found = Archive(tmp_path / "x.npz")
    assert found.names == ["a", "b", "c"]
    assert found.shapes("abc") == {"a": (1, 2), "b": (1,), "c": (3,)}
    for name, array in found.read("abc").items():
        assert array.dtype == np.float64
        assert array.tolist() == arrays[name].astype(float).tolist()


def test_pickled_objects_are_refused_and_never_opened(tmp_path):
    harm = tmp_path / "harm"
    members = {"a.npy": npy(np.array([Bomb(harm)], dtype=object), allow_pickle=True), "b.npy": npy([1.0])}
    found = Archive(write(tmp_path / "x.npz", members))
    assert found.shapes("b") == {"b": (1,)}
    for ask in (found.shapes, found.read):
        with pytest.raises(UserError, match=r"a holds pickled objects|Object arrays"):
            ask("a")
    assert not harm.exists()
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(Bomb(harm)))
    with pytest.raises(UserError, match="a pickle, which can run any code"):
        Archive(tmp_path / "model.pkl")
    (tmp_path / "y.npz").write_bytes(pickle.dumps(Bomb(harm)))  # which numpy.load would offer to unpickle
    with pytest.raises(UserError, match="BadZipFile"):
        Archive(tmp_path / "y.npz")
    assert not harm.exists()


HEADER = npy(np.zeros((2, 3)))[:128]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy([1, 2]), "a holds int64, where weights are floating-point"),
        (npy([1j]), "a holds complex128"),
        (npy(["x"]), "a holds <U1"),
        (npy(np.zeros((2, 3)))[:-1], "a is cut off"),
        (HEADER.replace(b"(2, 3)", b"(9**9, 3)"), "damaged"),
        (HEADER.replace(b"(2, 3), }     ", b"(10000000000,)}"), "a is cut off|damaged"),
        (HEADER.replace(b"'<f8'", b"'|O' "), "pickled objects|damaged"),
        (b"\x93NUMPY\x09\x00", "damaged"),
        (b"", "damaged"),
    ],
)
def test_what_is_no_array_of_numbers_is_one_line(content, message, tmp_path):
    found = Archive(write(tmp_path / "x.npz", {"a.npy": content}))
    with pytest.raises(UserError, match=message) as refused:
        found.shapes("a")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(value, tmp_path):
    np.savez(tmp_path / "x.npz", good=np.ones(2), bad=np.array([1, value]))
    with pytest.raises(UserError, match="bad holds NaN or infinity"):
        Archive(tmp_path / "x.npz").read(["good", "bad"])


def test_a_small_file_of_enormous_arrays_is_refused_before_they_are_read(monkeypatch, tmp_path):
    monkeypatch.setattr(archive, "LARGE", 2**16)
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(2**17))
    with pytest.raises(UserError, match=r"1,048,\d+ bytes in a file of"):
        Archive(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", a=np.zeros(2**17))
    assert Archive(tmp_path / "y.npz").names == ["a"]


def test_missing_files_and_members_are_one_line(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        Archive(tmp_path / "x.npz")
    found = Archive(write(tmp_path / "x.npz", {"a.npy": npy([1.0])}))
    with pytest.raises(UserError, match="no item named 'b"):
        found.shapes("b")


def test_shapes_agree_with_each_other(tmp_path):
    expected = {"a": ("N", "2M"), "b": ("M",), "c": ("1", "3N")}
    assert check_shapes(tmp_path, {"a": (5, 14), "b": (7,), "c": (1, 15)}, expected) == {"N": 5, "M": 7}
    for wrong, message in (
        ({"a": (5, 14), "b": (6,), "c": (1, 15)}, r"a has the shape \(5, 14\), not \(5, 12\) as by b"),
        ({"a": (5, 14), "b": (7,), "c": (2, 15)}, r"c has the shape \(2, 15\), not \(1, 15\) as by a"),
        ({"a": (5, 14), "b": (7, 1), "c": (1, 15)}, r"b has the shape \(7, 1\), not \(M\)"),
    ):
        with pytest.raises(UserError, match=message):
            check_shapes(tmp_path, wrong, expected)
