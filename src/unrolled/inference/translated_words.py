"""What an attention's memory tells about which source words are already translated. Letters: those of `AttendedPair`.

An example is a linked source word j of a pair after target word i. It is translated if none of its links leads to a
target word after i; its distance is the number of target words since its last link, or until then, counted from 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unrolled.alignment.links import Links
from unrolled.inference.attended_pairs import AttendedPair

Numbers = npt.NDArray[np.float32]


class Examples(NamedTuple):
    """N examples of one pair."""

    memory: Numbers
    """``(N, X)``: v_ij after the last piece of target word i, the mean over the pieces of source word j."""
    received: Numbers
    """``(N, 1)``: the sum of the weights that word j has received up to then."""
    place: Numbers
    """``(N, 4)``: i, j, their difference, the number of source words: enough for a guess without the memory."""
    translated: npt.NDArray[np.bool_]
    """``(N,)``"""
    distance: npt.NDArray[np.int64]
    """``(N,)``, from 1."""


def examples(pair: AttendedPair, links: Links) -> Examples:
    """All examples of ``pair``, attended with ``inside=True``. Known ``links`` are between words from 0."""
    assert pair.memory is not None
    last: dict[int, int] = {}
    for source, target in links:
        last[source] = max(target, last.get(source, -1))
    ends = {word: piece for piece, word in enumerate(pair.target_words) if word >= 0}  # its last piece
    pieces: dict[int, list[int]] = {}
    for piece, word in enumerate(pair.source_words):
        if word >= 0:
            pieces.setdefault(word, []).append(piece)
    linked = [word for word in sorted(last) if word in pieces]
    received = pair.weights.cumsum(dim=0)
    rows = list(ends.values())
    size = pair.memory.shape[-1]
    memory = np.zeros((len(rows), len(linked), size), np.float32)
    weights = np.zeros((len(rows), len(linked)), np.float32)
    for column, word in enumerate(linked):
        memory[:, column] = pair.memory[rows][:, pieces[word]].mean(dim=1).numpy()
        weights[:, column] = received[rows][:, pieces[word]].sum(dim=1).numpy()
    i, j = np.meshgrid(np.array(list(ends), np.int64), np.array(linked, np.int64), indexing="ij")
    passed = i - np.array([last[word] for word in linked], np.int64)
    place = np.stack([i, j, i - j, np.full_like(i, len(pieces))], axis=-1)
    return Examples(
        memory=memory.reshape(-1, size),
        received=weights.reshape(-1, 1),
        place=place.reshape(-1, 4).astype(np.float32),
        translated=(passed >= 0).reshape(-1),
        distance=np.where(passed >= 0, passed + 1, -passed).reshape(-1),
    )


def joined(parts: Sequence[Examples]) -> Examples:
    """The examples of several pairs."""
    return Examples(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
