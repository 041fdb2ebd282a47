"""Which sentences share a batch: similar lengths, filled up to a budget of positions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.errors import UserError

Lengths = NDArray[np.integer[Any]]

EVALUATED = 2000  # positions of a batch of validation or test, as in translate.py, if training's are smaller


def evaluated_positions(max_tokens: int) -> int:
    """Positions of a batch of validation or test, if those of training have ``max_tokens``.

    Small batches may help learning, but in evaluation they only take longer, and without gradients batches need
    less memory. Still in proportion to training's, so that smaller batches help if memory has run out.
    """
    return max(max_tokens, min(EVALUATED, 5 * max_tokens))


class TokenBudgetBatches:
    """Batches of at most ``max_tokens`` padded positions on either side, divided among ranks.

    source_lengths (N,), or None for monolingual text, and target_lengths (N,): the positions a sentence takes.

    Sentences are sorted by target length, then by source length, and cut into batches greedily. An epoch shuffles
    sentences of equal lengths, and the batches. Over all ranks it has every sentence once, and every epoch and every
    rank has the same number of batches: the largest batches are halved until the number of ranks divides their number.
    A sentence above the budget is a batch by itself. Everything depends only on the lengths, the seed and the epoch.

    UserError: more ranks than there is work for.
    """

    def __init__(
        self,
        source_lengths: Lengths | None,
        target_lengths: Lengths,
        *,
        max_tokens: int,
        max_sentences: int | None = None,
        shuffle: bool,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        self._target = _narrow(target_lengths)
        self._source = None if source_lengths is None else _narrow(source_lengths)
        self._shuffle, self._seed = shuffle, seed
        self._rank, self._world_size = rank, world_size
        order = self._sort(np.arange(len(target_lengths)))
        source, target = self._positions(order)
        self._bounds = _share(_cut(source, target, max_tokens, max_sentences), world_size)

    def __len__(self) -> int:
        """Number of batches of this rank in an epoch."""
        return (len(self._bounds) - 1) // self._world_size

    def epoch(self, epoch: int) -> list[NDArray[np.intp]]:
        """This rank's batches: for each the numbers of its sentences."""
        random = np.random.default_rng([self._seed, epoch])
        order = np.arange(len(self._target))
        # neighbouring batches have similar lengths: the ranks take them at the same time
        together = np.arange(len(self._bounds) - 1).reshape(-1, self._world_size)
        if self._shuffle:
            random.shuffle(order)
            random.shuffle(together)
        order = self._sort(order)
        return [order[self._bounds[batch] : self._bounds[batch + 1]] for batch in together[:, self._rank]]

    def largest(self) -> list[NDArray[np.intp]]:
        """The batches of any epoch with the most positions, and with the most pairs of positions, as in attention."""
        order = self._sort(np.arange(len(self._target)))
        rows = np.diff(self._bounds)
        source, target = (np.maximum.reduceat(side, self._bounds[:-1]) for side in self._positions(order))
        largest = {int((rows * (source + target)).argmax()), int((rows * source * target).argmax())}
        return [order[self._bounds[batch] : self._bounds[batch + 1]] for batch in sorted(largest)]

    def padding_share(self) -> tuple[float | None, float]:
        """The share of padding in the positions of all batches: source (None without one) and target."""
        source, target = self._positions(self._sort(np.arange(len(self._target))))
        sides = [None if self._source is None else source, target]
        shares = [None if lengths is None else _padding(lengths, self._bounds) for lengths in sides]
        assert shares[1] is not None
        return shares[0], shares[1]

    def _sort(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """By target length, then source length, alternately up and down, so that neighbours differ least. Stable."""
        target = self._target[order]
        if self._source is None:
            return order[np.argsort(target, kind="stable")]
        source = self._source[order]
        turned = np.where(target % 2 == 0, source, self._source.max(initial=0) - source)
        return order[np.lexsort((turned, target))]

    def _positions(self, order: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source and target lengths in an order; without a source, the target lengths twice."""
        target = self._target[order].astype(np.int64)
        return target if self._source is None else self._source[order].astype(np.int64), target


def _narrow(lengths: Lengths) -> Lengths:
    """The lengths in the narrowest type: NumPy sorts 16 bits in linear time."""
    return lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))))


def _cut(source: NDArray[np.int64], target: NDArray[np.int64], max_tokens: int, max_sentences: int | None) -> list[int]:
    """Where batches of sorted sentences begin, and finally where the last one ends."""
    bounds = [0]
    sides = np.maximum(source, target)
    while (start := bounds[-1]) < len(target):
        most = max(1, max_tokens // int(target[start]))
        if max_sentences is not None:
            most = min(most, max_sentences)
        longest = np.maximum.accumulate(sides[start : start + most])
        positions = longest * np.arange(1, len(longest) + 1)
        bounds.append(start + max(1, int(np.searchsorted(positions, max_tokens, side="right"))))
    return bounds


def _share(bounds: list[int], world_size: int) -> NDArray[np.int64]:
    """Halve the largest batches until ``world_size`` divides their number."""
    shared = np.array(bounds, dtype=np.int64)
    while (len(shared) - 1) % world_size:
        sizes = np.diff(shared)
        largest = int(sizes.argmax())
        if sizes[largest] == 1:
            raise UserError(
                f"{bounds[-1]} sentences, {len(bounds) - 1} batches, {world_size} processes: not all processes"
                " get the same number of batches; use fewer processes, raise max_tokens, or give more sentences"
            )
        shared = np.insert(shared, largest + 1, shared[largest] + sizes[largest] // 2)
    return shared


def _padding(lengths: NDArray[np.int64], bounds: NDArray[np.int64]) -> float:
    """Share of padding when every batch is padded to its longest sentence."""
    padded = np.maximum.reduceat(lengths, bounds[:-1]) * np.diff(bounds)
    return float(1 - lengths.sum() / padded.sum())
