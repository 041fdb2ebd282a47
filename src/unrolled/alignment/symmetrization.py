"""Two alignments of a sentence pair made one: those of the two directions of a word alignment model.

forward: at most one source word for every target word, as a model of the target given the source finds it; backward:
at most one target word for every source word. Both are written (source position, target position), as is the result.
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
    """Links that both directions have: few, and the surest."""
    return forward & backward


def union(forward: Links, backward: Links) -> Links:
    """Links that either direction has."""
    return forward | backward


def grow_diag(forward: Links, backward: Links) -> Links:
    """The intersection, and links of the union beside it, again and again.

    Och & Ney 2003, as Koehn, Och & Marcu 2003 and Koehn et al. 2005 have changed it: a link joins if one of its words
    has none yet. As that depends on which came first, links are visited as Moses does, by target and then by source
    position, among them those that have joined meanwhile.
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
    """`grow_diag`, then links both of whose words have none yet: those of the forward direction, then of the other."""
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
    """The function of a name in SYMMETRIZATIONS. UserError with the nearest name, or with all, for any other."""
    check_choice("symmetrization", name, SYMMETRIZATIONS)
    return SYMMETRIZATIONS[name]
