"""Features next to letters: tokens of their own, whatever they are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.text.characters import Characters
from unrolled.text.features import FeatureTokenizer, WithFeatures, features_of, text_of
from unrolled.text.tokenizer import Words, load_tokenizer
from unrolled.text.tokens import UNK, split_words

CELL = st.text("ab V;+é 👩", max_size=6)
LINE = st.lists(CELL, min_size=1, max_size=4).map("\t".join)


def trained(tmp_path, *lines, letters=None, separator=";"):
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines))
    return WithFeatures(letters=letters or Characters(), separator=separator).train([tmp_path / "text"])


def test_a_feature_is_a_token_apart_from_the_letter_of_the_same_name(tmp_path):
    tokenizer = trained(tmp_path, "V3\tV;3", "V\tV")
    (ids,) = tokenizer.encode(["V3\t3;V"])
    assert len(set(ids)) == 4
    assert tokenizer.pieces(ids) == ["V", "3", "[3]", "[V]"]
    assert tokenizer.decode(ids) == "V3\t3;V"
    assert tokenizer.size == 4 + 2 + 2


@pytest.mark.parametrize("separator", [";", "|", "+", ".", ", "])
def test_the_separator_is_taken_literally(separator, tmp_path):
    tokenizer = trained(tmp_path, f"a\tV{separator}PST{separator}SG", separator=separator)
    assert sorted(tokenizer.features) == ["PST", "SG", "V"]


def test_unknown_features_are_unknown_and_missing_ones_are_none(tmp_path):
    tokenizer = trained(tmp_path, "ab\tV;PST")
    assert tokenizer.encode(["ab\tV;FUT"])[0][2:] == [tokenizer.encode(["a\tV"])[0][1], UNK]
    assert tokenizer.encode(["ab", "ab\t", "ab\t;\t ;"]) == [tokenizer.encode(["ab"])[0]] * 3
    assert tokenizer.encode(["ab\tV\tPST"]) == tokenizer.encode(["ab\tV;PST"])  # several columns


@given(lines=st.lists(LINE, min_size=1), letters=st.sampled_from([Characters(), Words()]))
def test_lines_come_back_and_every_piece_has_a_word(tmp_path_factory, lines, letters):
    folder = tmp_path_factory.mktemp("features")
    tokenizer = trained(folder, *lines, "a b\tV", letters=letters)
    tokenizer.save(folder)
    again = load_tokenizer(folder)
    assert isinstance(again, FeatureTokenizer)
    assert (again.size, again.sha256, again.features) == (tokenizer.size, tokenizer.sha256, tokenizer.features)
    for line, ids in zip(lines, tokenizer.encode(lines), strict=True):
        assert again.encode([line]) == [ids]
        assert UNK not in ids
        assert again.encode([again.decode(ids)]) == [ids]
        numbers = tokenizer.words_of_pieces(line)
        assert len(numbers) == len(ids)
        assert numbers == sorted(numbers)
        assert all(0 <= number <= len(split_words(line)) for number in numbers)
        for (feature, place), number in zip(
            features_of(line, ";"), numbers[len(numbers) - len(features_of(line, ";")) :]
        ):
            assert split_words(feature)[0] in split_words(line)[number]
            assert line[place:].startswith(feature)
        assert text_of(line) == line.split("\t")[0]


def test_a_damaged_file_is_refused(tmp_path):
    trained(tmp_path, "a\tV;PST").save(tmp_path)
    (tmp_path / FeatureTokenizer.FILE).write_text(";\nV\nV\n")
    with pytest.raises(UserError, match=r"features\.txt"):
        load_tokenizer(tmp_path)
