import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.text import check_same_length, decode_lines, read_lines
from unrolled.errors import UserError

# any characters but those that end a line, those that no text file may hold, and lone surrogates
LINES = st.lists(
    st.text(st.characters(exclude_characters="\n\r\0\ufeff", exclude_categories=("Cs",)), max_size=20),
    min_size=1,
    max_size=10,
)


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_only_a_line_feed_ends_a_line(lines, end, bom, closed):
    text = end.join(lines) + (end if closed or lines[-1] == "" else "")
    raw = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    assert list(decode_lines(_chunks(raw), "f")) == lines


def _chunks(raw):
    """What iterating a binary file gives: pieces that end in a line feed, the last perhaps without."""
    pieces = raw.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


@pytest.mark.parametrize("odd", ["a\u0085b", "a\u2028b", "a\x0bb", "a\x0cb", "a\x1cb", "a\rb", ""])
def test_odd_characters_and_blank_lines_do_not_shift_lines(tmp_path, odd):
    path = tmp_path / "a.txt"
    path.write_bytes(f"first\n{odd}\nlast\n".encode())
    assert list(read_lines(path)) == ["first", odd, "last"]


def test_gzip_reads_as_plain(tmp_path):
    with gzip.open(tmp_path / "a.txt.gz", "wb") as file:
        file.write("ä\nb\n".encode())
    assert list(read_lines(tmp_path / "a.txt.gz")) == ["ä", "b"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"good\nb\xffd\n", ["a.txt:2", "UTF-8", "0xff"]),
        (b"good\ngood\nb\0d\n", ["a.txt:3", "NUL"]),
        (b"", ["a.txt", "empty"]),
        (None, ["a.txt", "no such file"]),
    ],
)
def test_bad_files_are_told_in_one_line(tmp_path, raw, words):
    path = tmp_path / "a.txt"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(UserError) as caught:
        list(read_lines(path))
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_damaged_gzip_file_is_told(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000)[:-20])
    with pytest.raises(UserError, match="gzip"):
        list(read_lines(path))


def test_files_of_unequal_length_are_told_with_both_counts(tmp_path):
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    with pytest.raises(UserError, match=r"3 lines.*2"):
        check_same_length(tmp_path / "a", tmp_path / "b")
    assert check_same_length(tmp_path / "a", tmp_path / "a") == 3
