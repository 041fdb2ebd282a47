import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unrolled.alignment.pieces import piece_links, word_index, word_weights


def test_word_index_follows_the_marks():
    assert word_index(["▁the", "▁c", "at", "s", "</s>"]) == [0, 1, 1, 1, -1]
    assert word_index(["<s>", "▁", "the", "▁", "cat", "<pad>"]) == [-1, 0, 0, 1, 1, -1]
    assert word_index(["▁of▁the", "▁cat"]) == [0, 2]
    assert word_index(["▁", "<unk>", "x", "▁y"]) == [0, 0, 0, 1]
    assert word_index(["▁a", "▁", "▁b", "▁", "</s>"]) == [0, 1, 1, -1, -1]
    assert word_index(["a▁", "b"]) == [0, 1]
    assert word_index([]) == []


def test_without_marks_every_piece_is_a_word():
    assert word_index(["the", "cats", "</s>"]) == [0, 1, -1]


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=5), min_size=1), st.randoms(use_true_random=False))
def test_every_word_has_its_pieces_however_it_is_cut(words, random):
    text = "".join("▁" + word for word in words)
    cuts = sorted(random.sample(range(1, len(text)), random.randrange(len(text))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)])]
    index = word_index([*pieces, "</s>"])
    assert index.pop() == -1
    place = 0
    for piece, number in zip(pieces, index):
        assert number == text[: place + 1].count("▁") - 1 or piece.endswith("▁")
        place += len(piece)


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
