"""Lines that are too long for a translator come out cut, or are refused; the tokenizer sees no more than that."""

import pytest

from unrolled.errors import UserError
from unrolled.inference.long_lines import LETTERS, shortened
from unrolled.text.characters import CharacterTokenizer
from unrolled.text.tokenizer import WordTokenizer


class Watched(WordTokenizer):
    def encode(self, lines):
        assert max(map(len, lines)) <= 7 * LETTERS
        return super().encode(lines)


def cut(lines, longer="truncate"):
    return shortened(lines, Watched(["a", "b"]), max_length=7, longer=longer, where=lambda number: f"in:{number + 1}")


@pytest.mark.parametrize(
    ("long", "what"),
    [
        ("a " * 8, "8 tokens are more than max_length=7"),
        ("a " * 100_000, "at least 350 tokens are more than max_length=7"),
        ("b" * 1_000_000, "more than 700 letters, 100 for each token of max_length=7"),
    ],
    ids=["words", "many words", "a long word"],
)
def test_a_long_line_is_cut_with_a_notice_and_the_others_are_as_they_were(long, what, caplog):
    first, middle, last = cut(["a b", long, " b  a "])
    assert (first, last) == ("a b", " b  a ")
    assert len(middle.split()) <= 7
    assert caplog.messages == [f"in:2: {what}; the rest is omitted"]


def test_a_long_line_is_refused_if_that_was_asked_for():
    with pytest.raises(UserError, match="in:2: at least 350 tokens are more than max_length=7; split the line"):
        cut(["a b", "a " * 100_000], longer="refuse")


def test_a_line_as_long_as_may_be_is_left_alone(caplog):
    assert cut(["a " * 7]) == ["a " * 7]
    assert not caplog.messages


def test_what_is_left_of_a_line_is_its_own_text():
    """Whole words as they were written; what the tokenizer does not know is not replaced by how it writes it."""
    assert cut(["a unheard-of  b a a a a b b"]) == ["a unheard-of  b a a a a"]


def test_the_beginning_of_a_word_longer_than_all_is_left():
    letters = CharacterTokenizer(["a", "b"], unit="grapheme", normalization="nfc")
    assert shortened(["abab"], letters, max_length=3, longer="truncate", where=str) == ["aba"]
