import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.metrics.alignment import (
    alignment_scores,
    links_from_weights,
    parse_pharaoh,
    read_alignments,
    word_index,
    word_weights,
)

LINKS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))


# ---- Pharaoh files


def test_pharaoh_tells_sure_and_possible_links():
    assert parse_pharaoh("0-1 12p3 2-0") == ({(0, 1), (2, 0)}, {(0, 1), (12, 3), (2, 0)})
    assert parse_pharaoh("1-2 13p4 3-1", base=1) == ({(0, 1), (2, 0)}, {(0, 1), (12, 3), (2, 0)})
    assert parse_pharaoh("  0-0\t1-1 ") == ({(0, 0), (1, 1)}, {(0, 0), (1, 1)})
    assert parse_pharaoh("") == (set(), set())


@pytest.mark.parametrize(
    "line", ["0", "0-", "-1", "0-1-2", "0--1", "a-b", "0:1", "1p", "0 - 1", "²-1", "1_0-1", "0-1p"]
)
def test_anything_else_is_no_link(line):
    with pytest.raises(ValueError, match="is no link"):
        parse_pharaoh(f"0-0 {line}")


def test_reading_names_file_line_and_content_of_a_mistake(tmp_path):
    path = tmp_path / "gold.talp"
    path.write_text("1-1 2p2\n\n3-1\n")
    assert read_alignments(path, base=1) == [({(0, 0)}, {(0, 0), (1, 1)}), (set(), set()), ({(2, 0)}, {(2, 0)})]
    path.write_text("1-1\n1-0\n")
    with pytest.raises(UserError, match=r"gold\.talp:2: '1-0' is below 1-1"):
        read_alignments(path, base=1)
    path.write_text("0-0\n\n0-0 x-3\n")
    with pytest.raises(UserError, match=r"gold\.talp:3: 'x-3'") as error:
        read_alignments(path)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"none\.talp"):
        read_alignments(tmp_path / "none.talp")


# ---- scores


def test_scores_follow_och_and_ney_over_the_corpus():
    gold = [({(0, 0), (1, 1)}, {(0, 0), (1, 1), (1, 2), (2, 2)}), ({(0, 1)}, {(0, 1)})]
    found = [{(0, 0), (1, 2), (2, 1)}, {(0, 1), (1, 0)}]
    # |A| 5, |S| 3, A and S: (0,0), (0,1); A and P: besides (1,2)
    scores = alignment_scores(found, gold)
    assert scores.links == 5
    assert scores.precision == 3 / 5
    assert scores.recall == 2 / 3
    assert scores.aer == 1 - (2 + 3) / (5 + 3)


def test_sure_links_count_as_possible_even_if_not_listed():
    assert alignment_scores([{(0, 0)}], [({(0, 0)}, set())]).aer == 0


@given(LINKS.filter(len), LINKS)
def test_perfect_and_disjoint_alignments(sure, more):
    perfect = alignment_scores([sure], [(sure, sure | more)])
    assert (perfect.aer, perfect.precision, perfect.recall) == (0, 1, 1)
    moved = {(i + 10, j) for i, j in sure}
    disjoint = alignment_scores([moved], [(sure, sure | more)])
    assert (disjoint.aer, disjoint.precision, disjoint.recall) == (1, 0, 0)


@given(st.lists(st.tuples(LINKS, LINKS), min_size=1))
def test_with_sure_links_only_aer_is_one_minus_f1(pairs):
    scores = alignment_scores([found for found, _ in pairs], [(gold, gold) for _, gold in pairs])
    if scores.precision + scores.recall > 0:
        f1 = 2 * scores.precision * scores.recall / (scores.precision + scores.recall)
        assert math.isclose(scores.aer, 1 - f1, abs_tol=1e-12)


def test_nothing_to_divide_by_is_not_a_number():
    nothing = alignment_scores([set()], [(set(), set())])
    assert math.isnan(nothing.aer)
    assert math.isnan(nothing.precision)
    assert math.isnan(nothing.recall)
    assert alignment_scores([set()], [({(0, 0)}, {(0, 0)})]).aer == 1


def test_as_many_found_as_gold():
    with pytest.raises(ValueError, match="shorter"):
        alignment_scores([set()], [])


# ---- from weights between pieces to links between words


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


def test_each_target_word_is_linked_to_where_it_looks_most():
    weights = np.array([[0.1, 0.7, 0.2], [0.0, 0.5, 0.5], [0.0, 0.1, 0.9], [0.3, 0.4, 0.3]])
    assert links_from_weights(weights) == {(1, 0), (1, 1), (2, 2), (1, 3)}
    assert all(type(i) is int and type(j) is int for i, j in links_from_weights(weights))
    assert links_from_weights(np.zeros((0, 3))) == set()
    assert links_from_weights(np.zeros((3, 0))) == set()
