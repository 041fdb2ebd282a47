import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.alignment.pieces import piece_links, word_weights, words_of_ids, words_of_line
from unrolled.metrics.attention_counts import AttentionCounts
from unrolled.text.characters import CharacterTokenizer
from unrolled.text.subwords import Codes, SubwordTokenizer
from unrolled.text.tokenizer import WordTokenizer, train_sentencepiece
from unrolled.text.tokens import BOS, EOS, PAD, UNK, split_words


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


@pytest.fixture(scope="module")
def sentencepiece():
    return train_sentencepiece(["aa bb cc dd", "bb cc aa dd", "dd aa ab"] * 30, kind="unigram", size=12)


def test_an_unknown_piece_of_sentencepiece_is_a_word_of_its_own_as_it_is_printed(sentencepiece):
    known = sentencepiece.encode(["aa bb cc dd"])[0]
    for place in range(len(known) + 1):
        ids = [*known[:place], UNK, *known[place:]]
        words = words_of_ids(sentencepiece, ids)
        printed = split_words(sentencepiece.decode(ids))
        assert printed[words[place]] == "⁇"
        assert words == sorted(words)
        assert {*words} == {*range(len(printed))}
    assert words_of_ids(sentencepiece, [UNK]) == [0]
    assert words_of_ids(sentencepiece, []) == []
    assert words_of_ids(sentencepiece, [BOS, *known, EOS, PAD]) == [
        -1, *sentencepiece.words_of_pieces("aa bb cc dd"), -1, -1
    ]  # fmt: skip


@given(data=st.data())
def test_words_of_any_ids_are_those_that_are_printed(sentencepiece, data):
    ids = data.draw(st.lists(st.integers(UNK, sentencepiece.size - 1), max_size=12))
    printed, words = split_words(sentencepiece.decode(ids)), words_of_ids(sentencepiece, ids)
    for number, word in enumerate(printed):
        pieces = [piece.strip("▁") for piece, of in zip(sentencepiece.pieces(ids), words, strict=True) if of == number]
        assert "".join(pieces).replace("<unk>", "⁇") == word


def test_a_mark_is_part_of_its_letter():
    tokenizer = CharacterTokenizer(["e", "\u0301", " "], unit="codepoint")
    ids = [4, 5, 6, 4, 5]
    assert tokenizer.decode(ids) == "é é"
    assert words_of_ids(tokenizer, ids) == [0, 0, 1, 1, 1]


def test_what_comes_after_the_last_word_belongs_to_none():
    tokenizer = CharacterTokenizer(["a", "b", " "])
    assert words_of_line(tokenizer, "ab a ") == [0, 0, 1, 1, -1]
    assert words_of_ids(tokenizer, tokenizer.encode(["ab a "])[0]) == [0, 0, 1, 1, -1]
    counts = AttentionCounts()
    counts.add(
        np.eye(4)[[0, 1, 2, 3]], words_of_line(tokenizer, "ab "), words_of_line(tokenizer, "ba "), ({(0, 0)},) * 2
    )
    assert (counts.source_words, counts.target_words, counts.figures()["aer"]) == (1, 1, 0)


def test_word_weights_are_sums_over_the_source_and_means_over_the_target():
    weights = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.4, 0.0], [0.0, 0.0, 0.2, 0.8]], dtype=np.float32)
    words = word_weights(weights, [0, 0, 1, -1], [0, 0, 1])
    np.testing.assert_allclose(words, [[(0.3 + 0.6) / 2, (0.3 + 0.4) / 2], [0.0, 0.2]], atol=1e-7)
    assert word_weights(weights, [0, 1, 2, 3], [0, 1, -1]).shape == (2, 4)


def test_weights_that_sum_to_one_do_so_between_words():
    weights = np.random.default_rng(3).dirichlet(np.ones(7), size=5)
    words = word_weights(weights, [0, 1, 1, 2, 3, 3, 3], [0, 1, 1, 1, 2])
    assert words.shape == (3, 4)
    np.testing.assert_allclose(words.sum(axis=1), 1)


# ---- from links between words to weights between pieces


@st.composite
def cut_pairs(draw):
    """Words of each side cut into 0 to 3 pieces, and links between the words."""
    sides = [draw(st.lists(st.integers(0, 3), min_size=1, max_size=6)) for _ in range(2)]
    links = draw(st.sets(st.tuples(*(st.integers(0, len(side) - 1) for side in sides))))
    return *([word for word, pieces in enumerate(side) for _ in range(pieces)] for side in sides), links


def dense(links, source_words, target_words):
    weights = np.zeros((len(target_words), len(source_words)))
    for s, t, n in piece_links(links, source_words, target_words):
        assert weights[t, s] == 0, "one weight for each pair of pieces"
        weights[t, s] = 1 / n
    return weights


@given(cut_pairs())
def test_words_to_pieces_and_back(case):
    source_words, target_words, links = case
    words = word_weights(dense(links, source_words, target_words), source_words, target_words)
    for j in set(target_words):
        linked = {i for i, target in links if target == j and i in source_words}
        for i in range(words.shape[1]):
            assert np.isclose(words[j, i], 1 / len(linked) if i in linked else 0)


@given(cut_pairs())
def test_weights_of_a_linked_piece_sum_to_one(case):
    source_words, target_words, links = case
    for weights, word in zip(dense(links, source_words, target_words), target_words):
        linked = any(j == word and i in source_words for i, j in links)
        assert np.isclose(weights.sum(), linked)


def test_shares_are_those_of_words_before_those_of_pieces():
    # target word 0 (2 pieces) goes with source words 0 (1 piece) and 1 (3 pieces)
    assert sorted(piece_links({(0, 0), (1, 0)}, [0, 1, 1, 1], [0, 0])) == [
        (0, 0, 2), (0, 1, 2), (1, 0, 6), (1, 1, 6), (2, 0, 6), (2, 1, 6), (3, 0, 6), (3, 1, 6),
    ]  # fmt: skip


def test_linked_words_link_all_their_pieces():
    """Source ab|c d e|f, target x y|z; words without a link, and pieces of no word, have none."""
    source, target = [0, 0, 1, 2, 2, 3], [0, 1, 1]
    pairs = {(s, t) for s, t, _ in piece_links({(0, 1), (2, 0)}, source, target)}
    assert pairs == {(0, 1), (0, 2), (1, 1), (1, 2), (3, 0), (4, 0)}
    assert piece_links(set(), source, target) == piece_links({(7, 7)}, source, target) == []
