from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.alignment.symmetrization import SYMMETRIZATIONS, grow_diag, grow_diag_final_and, symmetrization
from unrolled.errors import UserError

WORDS = st.integers(0, 5)
# a direction has one source word for each target word, or the other way round; files may have any links
DIRECTIONS = st.tuples(
    st.dictionaries(WORDS, WORDS).map(lambda found: {(i, j) for j, i in found.items()}),
    st.dictionaries(WORDS, WORDS).map(lambda found: set(found.items())),
) | st.tuples(st.sets(st.tuples(WORDS, WORDS)), st.sets(st.tuples(WORDS, WORDS)))


def transposed(links):
    return {(j, i) for i, j in links}


@given(DIRECTIONS)
def test_each_has_the_links_of_the_one_before(directions):
    forward, backward = directions
    names = ("intersection", "grow_diag", "grow_diag_final_and", "union")
    found = [SYMMETRIZATIONS[name](forward, backward) for name in names]
    assert all(fewer <= more for fewer, more in pairwise(found))
    assert found[0] == forward & backward
    assert found[-1] == forward | backward
    assert (SYMMETRIZATIONS["forward"](*directions), SYMMETRIZATIONS["backward"](*directions)) == directions


@given(DIRECTIONS)
def test_what_is_given_stays_as_it_is(directions):
    before = tuple(set(links) for links in directions)
    for symmetrize in SYMMETRIZATIONS.values():
        symmetrize(*directions).add((9, 9))
    assert directions == before


@given(DIRECTIONS)
def test_intersection_and_union_do_not_mind_which_side_is_the_source(directions):
    forward, backward = directions
    for name in ("intersection", "union"):
        symmetrize = SYMMETRIZATIONS[name]
        assert symmetrize(transposed(backward), transposed(forward)) == transposed(symmetrize(forward, backward))


@given(DIRECTIONS)
def test_grow_diag_stops_where_no_link_next_to_another_has_a_word_without_links(directions):
    forward, backward = directions
    links = grow_diag(forward, backward)
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    for i, j in (forward | backward) - links:
        adjacent = any(max(abs(i - other_i), abs(j - other_j)) == 1 for other_i, other_j in links)
        assert not adjacent or (i in sources and j in targets)


@given(DIRECTIONS)
def test_final_and_leaves_no_link_whose_words_have_both_none(directions):
    forward, backward = directions
    links = grow_diag_final_and(forward, backward)
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    assert not [(i, j) for i, j in forward | backward if i not in sources and j not in targets]
    added = links - grow_diag(forward, backward)
    assert len({i for i, _ in added}) == len({j for _, j in added}) == len(added)


@given(DIRECTIONS)
def test_grow_diag_is_the_matrix_of_koehn_et_al(directions):
    """Their pseudo-code: every target word e with every source word f, until nothing is added."""
    forward, backward = directions
    aligned = forward & backward
    added = True
    while added:
        added = False
        for e in range(6):
            for f in range(6):
                if (f, e) in aligned:
                    for step in [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]:
                        new = (f + step[1], e + step[0])
                        e_free = all(j != new[1] for _, j in aligned)
                        f_free = all(i != new[0] for i, _ in aligned)
                        if (e_free or f_free) and new in forward | backward and new not in aligned:
                            aligned.add(new)
                            added = True
    assert grow_diag(forward, backward) == aligned


def test_an_example_by_hand():
    r"""Source words down, target words across; X in both directions, f forward only, b backward only.

      0 1 2 3 4
    0 X b . . .     0-0 is in both. Its neighbour 0-1 joins: target word 1 has none yet.
    1 . f . . .     1-1 is next to 0-0 too; target word 1 has a link by now, but source word 1 has none: it joins.
    2 . . f . .     2-2 is next to 1-1, with two words without links: it joins.
    3 . . . . f     3-4 is next to nothing; neither word has a link: it comes last.
    4 . . . b .     4-3 likewise.
    5 . . . . b     5-4 is not next to 2-2 and not in time: target word 4 has got 3-4 of the forward direction.
    """
    forward, backward = {(0, 0), (1, 1), (2, 2), (3, 4)}, {(0, 0), (0, 1), (4, 3), (5, 4)}
    assert grow_diag(forward, backward) == {(0, 0), (0, 1), (1, 1), (2, 2)}
    assert grow_diag_final_and(forward, backward) == {(0, 0), (0, 1), (1, 1), (2, 2), (3, 4), (4, 3)}
    exchanged = grow_diag_final_and(backward, forward)
    assert exchanged == {(0, 0), (0, 1), (1, 1), (2, 2), (5, 4), (4, 3)}


@pytest.mark.parametrize(
    ("both", "others", "joins"),
    [
        # either could be first at target word 1: the one straight next to 1-0 comes before the one across
        ({(1, 0), (1, 2), (0, 3)}, {(0, 1), (1, 1)}, {(1, 1)}),
        # straight next to 1-1, by target word: 1-0 and then, across, 2-0, whose source word has none
        ({(1, 1)}, {(1, 0), (2, 0)}, {(1, 0), (2, 0)}),
        # 0-0 is visited before 2-2, and its neighbour takes target word 1
        ({(0, 0), (2, 2)}, {(0, 1), (2, 1)}, {(0, 1)}),
        # by target and not by source word: 2-0 is visited before 0-2
        ({(2, 0), (0, 2)}, {(1, 0), (1, 2)}, {(1, 0)}),
        # 1-1 joins from 0-0 and is visited itself before 3-3, so that 2-1 takes source word 2 before 2-3 can
        ({(0, 0), (3, 3)}, {(1, 1), (2, 1), (2, 3)}, {(1, 1), (2, 1)}),
        # 0-1 joins from 0-2, but its turn in this round is over: 1-3 takes source word 1 before 1-0 next to 0-1 can
        ({(5, 0), (0, 2), (2, 3)}, {(0, 1), (1, 0), (1, 3)}, {(0, 1), (1, 3)}),
    ],
)
def test_links_join_in_moses_order(both, others, joins):
    assert grow_diag(both | others, both) - both == joins
    assert grow_diag(both, both | others) - both == joins


@pytest.mark.parametrize(
    ("both", "others", "joins"),
    [
        # a neighbour straight next to a link is tried before one across, and so both join
        ({(2, 3)}, {(1, 2), (1, 3)}, {(1, 2), (1, 3)}),
        ({(2, 1)}, {(1, 0), (1, 1)}, {(1, 0), (1, 1)}),
        ({(0, 2)}, {(1, 1), (1, 2)}, {(1, 1), (1, 2)}),
        ({(1, 1)}, {(1, 2), (2, 2)}, {(1, 2), (2, 2)}),
        ({(0, 1)}, {(1, 0), (1, 1)}, {(1, 0), (1, 1)}),
        ({(2, 3)}, {(3, 2), (3, 3)}, {(3, 2), (3, 3)}),
        # those across: the word before on both sides first, the word after on both sides last
        ({(2, 2)}, {(1, 1), (2, 0), (0, 0)}, {(1, 1), (0, 0)}),
        ({(2, 1)}, {(1, 0), (1, 2), (2, 2)}, {(1, 0), (2, 2)}),
        ({(2, 2)}, {(0, 2), (1, 1), (0, 0)}, {(1, 1), (0, 0)}),
        ({(1, 0)}, {(3, 2), (2, 1), (3, 0)}, {(3, 2), (2, 1), (3, 0)}),
        ({(1, 1)}, {(0, 2), (2, 0), (2, 2)}, {(0, 2), (2, 0)}),
    ],
)
def test_neighbours_are_tried_in_moses_order(both, others, joins):
    assert grow_diag(both | others, both) - both == joins


def test_a_name_that_is_none_is_refused_with_the_nearest():
    assert symmetrization("union") is SYMMETRIZATIONS["union"]
    with pytest.raises(
        UserError, match=r"symmetrization=grow_diag_final is unknown; did you mean grow_diag_final_and\?"
    ):
        symmetrization("grow_diag_final")
    with pytest.raises(
        UserError, match="symmetrization=x is unknown; give one of grow_diag_final_and, grow_diag, inter"
    ):
        symmetrization("x")
