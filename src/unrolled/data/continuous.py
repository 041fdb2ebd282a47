"""A corpus as one continuous text, in rows that are read in parallel, a few words at a time.

For truncated backpropagation through time: a row of a batch continues where the same row of the previous batch ended,
so that a recurrent state can be carried over. The boundary between two lines is predicted as </s> and read as <s>, so a
line begins the same way as it does alone.

Letters: B rows, T words of a batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unrolled.data.batch import send
from unrolled.data.store import TokenStore
from unrolled.errors import UserError
from unrolled.text.tokens import BOS, EOS, PAD


@dataclass(eq=False)
class StreamBatch:
    """The next words of every row; ``first``: the rows begin here. int64 tensors."""

    target_in: Tensor
    """(B, T): the word before each word to predict."""
    target_out: Tensor
    """(B, T): the words to predict; PAD after the end of the text."""
    first: bool
    counted: Tensor | None = None
    """(N,): the real tokens of ``target_out``, as numbers of its positions row by row, from 0."""

    def __post_init__(self) -> None:
        if self.counted is None:
            self.counted = self.target_out_valid.flatten().nonzero().squeeze(1)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.target_out)

    @property
    def target_out_valid(self) -> Tensor:
        """(B, T) bool, True at real tokens of ``target_out``."""
        return self.target_out != PAD

    def to(self, device: torch.device | str, **options: Any) -> "StreamBatch":
        """The batch on ``device``; ``options`` are those of Tensor.to."""
        return replace(
            self,
            target_in=send(self.target_in, device, **options),
            target_out=send(self.target_out, device, **options),
            counted=None if self.counted is None else send(self.counted, device, **options),
        )


class ContinuousText:
    """All lines of a store, one after the other, each followed by </s>."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store
        # the position of the </s> of every line
        self._ends = np.cumsum(store.lengths.astype(np.int64) + 1) - 1

    def __len__(self) -> int:
        """Number of tokens, </s> counted."""
        return int(self._ends[-1]) + 1 if len(self._ends) else 0

    def __getitem__(self, positions: slice) -> NDArray[np.int64]:
        """The tokens from ``positions.start`` to before ``positions.stop``."""
        start, stop = min(positions.start, len(self)), min(positions.stop, len(self))
        first, last = np.searchsorted(self._ends, [start, stop])
        tokens = np.full(stop - start, EOS, dtype=np.int64)
        words = np.ones(len(tokens), dtype=bool)
        words[self._ends[first:last] - start] = False
        tokens[words] = self._store.flat(start - int(first), stop - int(last))
        return tokens


class StreamLoader:
    """Batches of a continuous text in ``rows`` rows of equal length, ``steps`` words at a time.

    An iteration is an epoch, in which every word occurs in exactly one batch; the last rows are padded, or empty, and
    all epochs are the same. The rows are divided among the ranks.

    Iterating starts a new epoch; right after `load_state_dict` it resumes the saved one.

    UserError: fewer words than rows, a number of rows that is not a multiple of the number of ranks.
    """

    def __init__(self, store: TokenStore, *, rows: int, steps: int, rank: int = 0, world_size: int = 1) -> None:
        self._text = ContinuousText(store)
        if rows % world_size:
            raise UserError(f"data.stream_rows={rows} cannot be divided among {world_size} processes")
        if len(self._text) < rows:
            raise UserError(f"data.stream_rows={rows} is more than the text has tokens ({len(self._text)})")
        self._row_length = -(-len(self._text) // rows)
        self._rows = range(rank * (rows // world_size), (rank + 1) * (rows // world_size))
        self._steps = steps
        self._given = 0
        self._resumed = False

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return -(-self._row_length // self._steps)

    def __iter__(self) -> Iterator[StreamBatch]:
        """The batches of an epoch, or the rest of one."""
        if not self._resumed or self._given == len(self):
            self._given = 0
        self._resumed = False
        for number in range(self._given, len(self)):
            self._given = number + 1
            yield self._batch(number)

    def _batch(self, number: int) -> StreamBatch:
        start = number * self._steps
        length = min(self._steps, self._row_length - start)
        # one column more on the left: the word before the first
        tokens = np.full((len(self._rows), length + 1), PAD, dtype=np.int64)
        for tokens_of_row, row in zip(tokens, self._rows, strict=True):
            here = row * self._row_length + start
            before = [EOS] if here == 0 else self._text[here - 1 : here]
            words = self._text[here : here + length]
            tokens_of_row[: len(words) + 1] = [*before, *words] if len(words) else PAD
        read = tokens[:, :-1]
        target_in = np.where(read == EOS, BOS, read)
        return StreamBatch(torch.from_numpy(target_in), torch.from_numpy(tokens[:, 1:]), first=number == 0)

    def largest(self) -> list[StreamBatch]:
        """The batch that needs the most memory: any but the last."""
        return [self._batch(0)]

    def state_dict(self) -> dict[str, int]:
        """How many batches of the epoch were returned."""
        return {"given": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Let the next iteration resume after the last batch that the saved loader returned."""
        self._given = state["given"]
        self._resumed = True
