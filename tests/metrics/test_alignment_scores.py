import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.metrics.alignment_scores import alignment_scores, links_from_weights

LINKS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))


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


def test_each_target_word_is_linked_to_where_it_looks_most():
    weights = np.array([[0.1, 0.7, 0.2], [0.0, 0.5, 0.5], [0.0, 0.1, 0.9], [0.3, 0.4, 0.3]])
    assert links_from_weights(weights) == {(1, 0), (1, 1), (2, 2), (1, 3)}
    assert all(type(i) is int and type(j) is int for i, j in links_from_weights(weights))
    assert links_from_weights([[0.1, 0.9], [0, 0], [0.2, 0.8]]) == {(1, 0), (1, 2)}  # a word without pieces
    assert links_from_weights(np.zeros((0, 3))) == set()
    assert links_from_weights(np.zeros((3, 0))) == set()
