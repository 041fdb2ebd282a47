"""Characters as tokens: any text comes back, whatever Unicode has in it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.text.characters import FORMS, UNITS, Characters, CharacterTokenizer, cut, train_characters
from unrolled.text.tokenizer import load_tokenizer
from unrolled.text.tokens import BOS, EOS, PAD, SPECIALS, UNK, split_words

ODD = "ab \t\u00a0é\u0301\u0300\u0e01\u0e48\u1ea4\u0323\u200d👩🏽🇬🇷\u05e9\u05dc\u0650ع\u202b가ᄀ\uac01\u2581<>\r\u2028"
TEXT = st.one_of(st.text(ODD, max_size=12), st.text(st.characters(codec="utf-8", exclude_characters="\0\n")))
KINDS = [(unit, form) for unit in UNITS for form in FORMS]


def trained(lines, unit="grapheme", normalization="nfc", **options):
    return train_characters(
        lines, **({"unit": unit, "normalization": normalization, "size": None, "min_count": 1} | options)
    )


def as_decoded(line, form):
    return line if form == "identity" else unicodedata.normalize("NFC", line)


@pytest.mark.parametrize(("unit", "form"), KINDS)
@given(text=TEXT)
def test_any_text_comes_back(unit, form, text):
    tokenizer = trained([text, "a"], unit, form)
    (ids,) = tokenizer.encode([text])
    assert not {PAD, BOS, EOS, UNK} & set(ids)
    assert tokenizer.decode([BOS, *ids, EOS, PAD]) == (as_decoded(text, form) if split_words(text) else "")


@pytest.mark.parametrize(("unit", "form"), KINDS)
@given(text=TEXT)
def test_every_character_has_a_word_and_words_come_in_order(unit, form, text):
    tokenizer = trained([text, "a"], unit, form)
    (ids,) = tokenizer.encode([text])
    numbers, words = tokenizer.words_of_pieces(text), split_words(text)
    assert len(numbers) == len(ids)
    assert numbers == sorted(numbers)
    assert all(0 <= number <= len(words) for number in numbers)
    for number, word in enumerate(words):
        own = "".join(piece for piece, of in zip(cut(text, unit=unit, normalization=form), numbers) if of == number)
        assert split_words(own) == split_words(
            word if FORMS[form] is None else unicodedata.normalize(FORMS[form], word)
        )


@given(texts=st.lists(TEXT))
def test_a_saved_tokenizer_is_the_same_again(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("characters")
    for unit, form in KINDS:
        tokenizer = trained([*texts, "a"], unit, form)
        tokenizer.save(folder)
        again = load_tokenizer(folder)
        assert (again.size, again.sha256) == (tokenizer.size, tokenizer.sha256)
        assert again.encode(texts) == tokenizer.encode(texts)
        assert again.pieces(range(4)) == list(SPECIALS)


def test_a_grapheme_is_what_a_reader_sees_and_a_code_point_what_unicode_numbers():
    for seen in ("e\u0323\u0301", "👩🏽\u200d🚀", "🇬🇷", "ก่", "\u1100\u1161\u11a8"):
        assert len(cut(seen, unit="grapheme", normalization="identity")) == 1
        assert cut(seen, unit="codepoint", normalization="identity") == list(seen)


def test_a_normal_form_joins_marks_or_takes_them_apart():
    assert cut("é", unit="codepoint", normalization="nfd") == ["e", "\u0301"]
    assert cut("e\u0301", unit="codepoint", normalization="nfc") == ["é"]
    assert cut("e\u0301", unit="codepoint", normalization="identity") == ["e", "\u0301"]
    one, other = trained(["é"]), trained(["e\u0301"])
    assert one.sha256 == other.sha256
    assert one.encode(["e\u0301"]) == one.encode(["é"]) == [[4]]


def test_unknown_characters_are_one_token_each_and_special_words_are_letters():
    tokenizer = trained(["ab"])
    (ids,) = tokenizer.encode(["axb"])
    assert ids == [4, UNK, 5]
    assert tokenizer.decode(ids) == "a\ufffdb"
    assert tokenizer.encode([tokenizer.decode(ids)]) == [ids]  # a line that is cut keeps its length
    assert set(tokenizer.encode(["<s>"])[0]) == {UNK}
    assert trained(["a b"]).pieces([4, 5, 6]) == ["\u2581", "a", "b"]


def test_characters_are_ordered_by_count_and_cut_at_size_and_minimum():
    lines = ["cba", "bc", "c"]
    assert trained(lines).pieces(range(4, 7)) == ["c", "b", "a"]
    assert trained(lines, size=6).size == 6
    assert trained(lines, min_count=2).pieces(range(4, 6)) == ["c", "b"]


def test_blank_text_has_no_characters(tmp_path):
    assert trained(["a"]).encode(["", " \t"]) == [[], []]
    with pytest.raises(UserError, match="no character occurs 1 times"):
        trained([" ", ""])


@pytest.mark.parametrize("head", ["grapheme", "letter nfc", "grapheme nfkc", ""])
def test_a_damaged_file_is_refused(head, tmp_path):
    trained(["ab"]).save(tmp_path)
    path = tmp_path / CharacterTokenizer.FILE
    path.write_text(path.read_text().replace("grapheme nfc", head))
    with pytest.raises(UserError, match=r"characters\.txt"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"unit": "letter"}, "tokenizer.unit=letter"), ({"normalization": "nfkc"}, "did you mean nfc"),
     ({"size": 4}, "tokenizer.size=4"), ({"min_count": 0}, "tokenizer.min_count=0")],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options, says):
    with pytest.raises(UserError, match=says):
        Characters(**options)
