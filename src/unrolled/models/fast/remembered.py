"""What a model computes from the previous word alone, computed once for each word that occurs.

N words, V vocabulary. A search meets few different words, many times: in a text of 1,000 sentences some 2,000.
"""

from collections.abc import Callable

import torch
from torch import Tensor

BYTES = 2**28  # of remembered rows, at most; further words are computed each time


class Remembered:
    """``compute``: words ``(N,)`` -> tensors ``(N, ...)``, one row for each word, that depend on that word alone."""

    def __init__(self, compute: Callable[[Tensor], tuple[Tensor, ...]], vocabulary: int) -> None:
        self._compute = compute
        self._places = torch.full((vocabulary,), -1)
        self._rows: tuple[Tensor, ...] = ()
        self._used = 0

    def __call__(self, words: Tensor) -> tuple[Tensor, ...]:
        """The same as ``compute``."""
        places = self._places[words]
        if (places < 0).any():
            new = words[places < 0].unique()
            computed = self._compute(new)
            if not self._rows:
                capacity = BYTES // max(1, sum(row[:1].nbytes for row in computed))
                capacity = min(capacity, len(self._places))
                self._rows = tuple(row.new_empty(capacity, *row.shape[1:]) for row in computed)
            end = self._used + len(new)
            if end > len(self._rows[0]):
                return self._compute(words)
            for rows, row in zip(self._rows, computed, strict=True):
                rows[self._used : end] = row
            self._places[new] = torch.arange(self._used, end)
            self._used = end
            places = self._places[words]
        return tuple(rows.index_select(0, places) for rows in self._rows)
