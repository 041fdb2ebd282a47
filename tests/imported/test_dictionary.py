import json
import pickle

import pytest

from unrolled.errors import UserError
from unrolled.imported.dictionary import read_dictionary, vocabularies
from unrolled.text.subwords import SubwordTokenizer
from unrolled.text.tokenizer import WordTokenizer


def write(path, ids):
    path.write_text(json.dumps(ids), encoding="utf-8")
    return path


def test_words_come_in_the_order_of_ids_up_to_the_model_s_size(tmp_path):
    path = write(tmp_path / "d.json", {"eos": 0, "UNK": 1, "c": 4, "ä": 2, "b": 3, "rare": 5})
    assert read_dictionary(path, 5) == ["ä", "b", "c"]
    assert read_dictionary(path, 6) == ["ä", "b", "c", "rare"]


def test_ids_without_a_word_and_words_that_no_line_yields_get_names_that_are_in_no_text(tmp_path):
    path = write(tmp_path / "d.json", {"a": 2, "</s>": 4, "two words": 5, "": 6, "a\nb": 7, "\u00a0": 8, "\u2028": 9})
    path.write_text(path.read_text()[:-1] + r', "\ud83d": 10, "\ud83d\ude00": 11}')  # half a letter, and a whole one
    words = read_dictionary(path, 12)
    assert words[:6] == ["a", "no word 3", "no word 4", "no word 5", "no word 6", "no word 7"]
    assert words[6:] == ["\u00a0", "\u2028", "no word 10", "\U0001f600"]
    tokenizer = WordTokenizer(words)
    assert tokenizer.encode(["a no word 3 </s>"]) == [[4, 3, 3, 3, 3]]
    tokenizer.save(tmp_path)
    assert WordTokenizer.load(tmp_path).pieces(range(4, 14)) == words


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ({"eos": 0, "UNK": 1, "a": 2, "b": 2}, "'a' and 'b' have the same id, 2"),
        ({"a": 0, "UNK": 1}, "id 0 is 'a', not eos"),
        ({"<EOS>": 0, "<GO>": 1, "<UNK>": 2}, "id 1 is '<GO>', not UNK"),
        ({"a": -1}, "whole number"),
        ({"a": True}, "whole number"),
        ({"a": 2.0}, "whole number"),
        ({"a": {"b": 2}}, "whole number"),
        (["eos", "UNK", "a"], "whole number"),
        ({}, "none of its words has an id from 2 to 4"),
        ({"eos": 0, "UNK": 1, "a": 7}, "none of its words has an id from 2 to 4"),
    ],
)
def test_other_dictionaries_are_refused(ids, message, tmp_path):
    with pytest.raises(UserError, match=message):
        read_dictionary(write(tmp_path / "d.json", ids), 5)


def test_pickles_and_damaged_files_are_refused(tmp_path):
    for name, content, message in (
        ("d.pkl", pickle.dumps({"a": 2}), "never opened; convert it to JSON .*docs/museum.md"),
        ("d.json", pickle.dumps({"a": 2}), "damaged"),
        ("d.json", b"[" * 100_000, "damaged"),
        ("d.json", b'{"a": 2', "damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=message) as refused:
            read_dictionary(tmp_path / name, 5)
        assert "\n" not in str(refused.value)


def test_pieces_make_a_tokenizer_that_joins_them(tmp_path):
    path = write(tmp_path / "d.json", {"eos": 0, "UNK": 1, "un@@": 2, "able": 3, "low": 4})
    whole = write(tmp_path / "e.json", {"eos": 0, "UNK": 1, "low": 2})
    source, target = vocabularies((path, path), (5, 5), (None, None))
    assert (type(source), type(target)) == (WordTokenizer, SubwordTokenizer)
    assert source.decode([4, 5]) == "un@@ able"
    assert target.decode([4, 5, 6]) == "unable low"
    assert type(vocabularies((path, whole), (5, 3), (None, None))[1]) is WordTokenizer
    codes = tmp_path / "codes"
    codes.write_text("#version: 0.2\nu n\na b\nl e</w>\nab le</w>\nl o\nlo w</w>\n")
    source, target = vocabularies((path, path), (5, 5), (codes, codes))
    assert (type(source), type(target)) == (SubwordTokenizer, SubwordTokenizer)
    assert source.encode(["unable low"]) == target.encode(["unable low"]) == [[4, 5, 6]]
