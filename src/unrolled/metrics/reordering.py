"""How much word order changes between the two sides of a sentence pair."""

import numpy as np

from unrolled.alignment.links import Links


def crossing_share(links: Links) -> float:
    """The share of pairs of links that cross, from 0 (same order) to 1 (reversed).

    Kendall's tau distance, used for word order by Birch & Osborne 2010, "LRscore for Evaluating Lexical and Reordering
    Quality in MT", here for links instead of permutations: two links (i, j) and (i', j') cross if i < i' and j > j';
    pairs of links that share a word are not counted. 0 if there are no pairs.
    """
    places = np.array(sorted(links)).reshape(-1, 2)
    ahead = np.triu(np.sign(places[None, :] - places[:, None]).prod(axis=2), k=1)  # 1 same order, -1 crossing, 0 shared
    counted = int((ahead != 0).sum())
    return int((ahead < 0).sum()) / counted if counted else 0.0
