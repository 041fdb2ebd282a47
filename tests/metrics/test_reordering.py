import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.metrics.reordering import crossing_share

LINKS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14)


@pytest.mark.parametrize(
    ("links", "share"),
    [
        (set(), 0),
        ({(3, 1)}, 0),
        ({(0, 0), (1, 1), (2, 2)}, 0),
        ({(0, 2), (1, 1), (2, 0)}, 1),
        ({(0, 1), (1, 0), (2, 2)}, 1 / 3),
        ({(0, 0), (0, 1), (0, 2)}, 0),  # one word with three: nothing to cross
        ({(0, 2), (1, 0), (1, 1)}, 1),  # the pair of links that share a word is not counted
    ],
)
def test_examples(links, share):
    assert crossing_share(links) == pytest.approx(share)


@given(LINKS)
def test_it_is_the_share_of_pairs_in_another_order(links):
    pairs = [(one, other) for one in links for other in links if one[0] < other[0] and one[1] != other[1]]
    crossing = [(one, other) for one, other in pairs if one[1] > other[1]]
    assert crossing_share(links) == pytest.approx(len(crossing) / len(pairs) if pairs else 0)


@given(LINKS)
def test_it_is_the_same_from_the_other_side(links):
    assert crossing_share({(j, i) for i, j in links}) == pytest.approx(crossing_share(links))
