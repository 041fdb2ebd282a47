import gzip
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.text.lines import check_same_length, decode_lines, read_lines, sha256

# Everything but a line feed, a NUL and lone surrogates; with the characters that other programs take for line ends
ODD = "\u0085\u2028\u2029\v\f\x1c\x1d\x1e\r \t\u00a0\u2581\ufeff"
inside_a_line = st.text(st.one_of(st.sampled_from(ODD), st.characters(codec="utf-8", exclude_characters="\0\n")))


@given(st.lists(inside_a_line, min_size=1), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_only_a_line_feed_ends_a_line(lines, end, bom, ended):
    lines = [line.removesuffix("\r") for line in lines]
    lines[0] = lines[0].lstrip("\ufeff")
    lines[-1] += "."  # so that the last line is there without its end
    data = ("\ufeff" * bom + end.join(lines) + end * ended).encode()
    assert list(decode_lines(io.BytesIO(data), "name")) == lines


def test_a_bom_is_one_on_the_first_line_only():
    assert list(decode_lines(["\ufeff\ufeffa\n".encode(), "\ufeffb\n".encode()], "name")) == ["\ufeffa", "\ufeffb"]


@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
def test_plain_and_gzipped_files_are_read_alike(tmp_path, name):
    lines = ["one\u2028two", "", "thr\u0085ee\x0c", " \t", "fünf"]
    data = "\ufeff".encode() + "\r\n".join(lines).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert list(read_lines(tmp_path / name)) == lines


def bad(tmp_path, data, name="bad.txt"):
    """The message of reading ``data`` from a file."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError) as caught:
        list(read_lines(tmp_path / name))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_invalid_utf8_names_file_and_line(tmp_path):
    message = bad(tmp_path, b"good\nfine\nb\xe4d\n")
    assert f"{tmp_path / 'bad.txt'}:3:" in message
    assert "0xe4" in message
    assert "UTF-8" in message


def test_utf16_is_not_utf8(tmp_path):
    assert ":1:" in bad(tmp_path, "wort".encode("utf-16"))


def test_a_nul_byte_names_file_and_line(tmp_path):
    message = bad(tmp_path, b"good\nb\0d\n")
    assert "bad.txt:2:" in message
    assert "NUL" in message


def test_gzip_without_its_ending_is_named():
    with pytest.raises(UserError, match=r"standard input: this is compressed by gzip; uncompress it \(zcat\)"):
        list(decode_lines(io.BytesIO(gzip.compress(b"a b\n")), "standard input"))


def test_an_empty_file_is_a_mistake(tmp_path):
    assert "empty" in bad(tmp_path, b"")
    assert "empty" in bad(tmp_path, gzip.compress(b""), "bad.gz")


def test_a_damaged_gzip_file_is_a_mistake(tmp_path):
    whole = gzip.compress(bytes(range(1, 10)) * 99 + b"\n")
    assert "bad.gz: its name ends in .gz, but it is not compressed" in bad(tmp_path, b"plain text\n", "bad.gz")
    assert "the gzip file is incomplete" in bad(tmp_path, whole[:-9], "bad.gz")
    assert "gzip" in bad(tmp_path, whole[:15] + b"\xff" * 9 + whole[24:], "bad.gz")


@pytest.mark.parametrize(
    "read", [sha256, lambda path: list(read_lines(path)), lambda path: check_same_length(path, path)]
)
def test_a_missing_file_or_a_folder_is_a_mistake(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    what = {"missing": "there is no such file", ".": "this is a folder", "pipe": "this is a named pipe"}
    for path, said in ((tmp_path / name, said) for name, said in what.items()):
        with pytest.raises(UserError, match=f"^{path}: {said}"):
            read(path)


@pytest.mark.parametrize("read", [sha256, lambda path: list(read_lines(path))])
def test_a_file_that_the_disk_does_not_give_is_a_mistake(read):
    with pytest.raises(UserError, match=r"^/proc/self/mem: cannot be read \(Input/output error\)"):
        read("/proc/self/mem")


def test_unequal_lengths_give_both_files_and_counts(tmp_path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"1\n2\n3\n")
    target.write_bytes(b"1\n2\n3\n\n5")
    with pytest.raises(UserError, match=rf"{source} has 3 lines and {target} has 5"):
        check_same_length(source, target)
    target.write_bytes("1\u2028\n\r\n3\r".encode())
    assert check_same_length(source, target) == 3
