import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.subwords import piece_links, word_index, word_weights


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


def test_linked_words_link_all_their_pieces():
    """Source ab|c d e|f, target x y|z; words without a link, and pieces of no word, have none."""
    source, target = [0, 0, 1, 2, 2, 3], [0, 1, 1]
    assert piece_links({(0, 1), (2, 0)}, source, target) == {(0, 1), (0, 2), (1, 1), (1, 2), (3, 0), (4, 0)}
    assert piece_links(set(), source, target) == set()
    assert piece_links({(7, 7)}, source, target) == set()
