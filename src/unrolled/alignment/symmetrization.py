"""Merging two alignments of a sentence pair, by the two directions of a word alignment model.

forward: at most one source word for every target word, by a model of the target given the source; backward: at most one
target word for every source word. Links are (source position, target position) in both, and in the result.
"""

from collections.abc import Callable

from unrolled.alignment.links import Links
from unrolled.errors import check_choice

Symmetrization = Callable[[Links, Links], Links]

# (target, source) steps in Moses' order: first along the sides, then along the diagonals
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def forward(forward: Links, backward: Links) -> Links:
    """The links of the forward direction alone."""
    return set(forward)


def backward(forward: Links, backward: Links) -> Links:
    """The links of the backward direction alone."""
    return set(backward)


def intersection(forward: Links, backward: Links) -> Links:
    """Links in both directions: few, and the most reliable."""
    return forward & backward


def union(forward: Links, backward: Links) -> Links:
    """Links in either direction."""
    return forward | backward


def grow_diag(forward: Links, backward: Links) -> Links:
    """The intersection, repeatedly extended by neighbouring links of the union.

    Och & Ney 2003, as changed by Koehn, Och & Marcu 2003 and Koehn et al. 2005: a link is added if one of its words has
    none yet. As the result depends on the order, links, including those just added, are visited as in Moses: by target
    position, then by source position.
    """
    links, either = forward & backward, forward | backward
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    candidates = sorted(either, key=_by_target)
    grown = len(links) < len(either)
    while grown:
        grown = False
        for i, j in candidates:
            if (i, j) not in links:
                continue
            for target_step, source_step in NEIGHBOURS:
                link = source, target = i + source_step, j + target_step
                if link in either and link not in links and not (source in sources and target in targets):
                    links.add(link)
                    sources.add(source)
                    targets.add(target)
                    grown = True
    return links


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """`grow_diag`, then the forward and then the backward links whose two words have no link yet."""
    links = grow_diag(forward, backward)
    sources, targets = {i for i, _ in links}, {j for _, j in links}
    for direction in (forward, backward):
        for i, j in sorted(direction, key=_by_target):
            if i not in sources and j not in targets:
                links.add((i, j))
                sources.add(i)
                targets.add(j)
    return links


def _by_target(link: tuple[int, int]) -> tuple[int, int]:
    return link[1], link[0]


SYMMETRIZATIONS: dict[str, Symmetrization] = {
    "grow_diag_final_and": grow_diag_final_and,
    "grow_diag": grow_diag,
    "intersection": intersection,
    "union": union,
    "forward": forward,
    "backward": backward,
}


def symmetrization(name: str) -> Symmetrization:
    """The function with that name in SYMMETRIZATIONS. UserError for any other name, with the nearest or all names."""
    check_choice("symmetrization", name, SYMMETRIZATIONS)
    return SYMMETRIZATIONS[name]
