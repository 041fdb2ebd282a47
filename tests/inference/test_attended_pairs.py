"""The words that the ids of a search belong to, whatever the tokenizer."""

import pytest

from unrolled.inference.attended_pairs import words_of_ids
from unrolled.text.characters import CharacterTokenizer
from unrolled.text.subwords import Codes, SubwordTokenizer
from unrolled.text.tokenizer import WordTokenizer
from unrolled.text.tokens import UNK


@pytest.mark.parametrize(
    ("tokenizer", "text", "words"),
    [
        (CharacterTokenizer(["a", "b", " "]), "abba", [0, 0, 0, 0]),
        (CharacterTokenizer(["a", "b", " "]), "ab a", [0, 0, 1, 1]),
        (WordTokenizer(["▁He", "llo", "▁x"]), "▁He llo ▁x", [0, 1, 2]),
        (SubwordTokenizer(["lo@@", "w"], Codes(["#version: 0.2", "l o"])), "low low", [0, 0, 1, 1]),
    ],
    ids=["one word", "two words", "words with marks", "pieces"],
)
def test_ids_belong_to_the_words_of_their_text(tokenizer, text, words):
    (ids,) = tokenizer.encode([text])
    assert tokenizer.words_of_pieces(text) == words
    assert words_of_ids(tokenizer, ids) == words


def test_ids_that_the_text_is_not_cut_into_belong_to_the_words_that_they_write():
    tokenizer = SubwordTokenizer(["lo@@", "w", "l@@", "o@@"], Codes(["#version: 0.2", "l o"]))
    assert words_of_ids(tokenizer, [6, 7, 5, 4, 5]) == [0, 0, 0, 1, 1]
    assert words_of_ids(tokenizer, [5, UNK, 5]) == [0, 1, 2]
