"""Text to ids: every line once and in order, one chunk ahead, mistakes where they are."""

import gzip

import pytest

from unrolled.data import encode as module
from unrolled.data.encode import encode
from unrolled.errors import UserError
from unrolled.text.tokenizer import train_words


@pytest.fixture
def words():
    return train_words([" ".join(str(number) for number in range(50))])


@pytest.mark.parametrize("lines", [1, 2, 3, 6, 7])
def test_every_line_once_and_in_order(lines, words, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    path = tmp_path / "text"
    path.write_text("".join(f"{number} {number + 1}\n" for number in range(lines)))
    expected = words.encode([f"{number} {number + 1}" for number in range(lines)])
    assert list(encode(path, words)) == expected


def test_a_damaged_line_ends_it_with_its_number(words, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    path = tmp_path / "text"
    path.write_bytes(b"1\n2\n3\n4\n\xff\n")
    with pytest.raises(UserError, match="text:5"):
        list(encode(path, words))


@pytest.mark.parametrize("kept", [5, 15, -6])
def test_a_damaged_gzip_file_is_a_mistake(kept, words, tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"1 2\n3\n" * 9)[:kept])
    with pytest.raises(UserError, match=r"text\.gz:\d+: the gzip file is incomplete"):
        list(encode(path, words))


def test_long_work_says_how_long_it_took(words, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "LONG", -1.0)
    path = tmp_path / "text"
    path.write_text("1\n2\n")
    with caplog.at_level("INFO"):
        list(encode(path, words))
    assert "2 lines to token ids" in caplog.text


def test_on_a_terminal_there_is_a_bar(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    path = tmp_path / "text"
    path.write_text("1\n2\n")
    list(encode(path, words))
    captured = capsys.readouterr()
    assert "2/2" in captured.err
    assert captured.out == ""
