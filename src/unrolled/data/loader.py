"""From stored token ids, or from text, to batches."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.data.batch import Batch, Shared, make_batch, make_source_batch
from unrolled.data.sampler import TokenBudgetBatches
from unrolled.data.store import TokenStore
from unrolled.errors import UserError
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import LONGEST


class BatchLoader:
    """Batches of stored sentences; an iteration is an epoch.

    lines: the lines of the stores to use; ``batches`` refers to positions in this list. links: the store of known
    alignments.

    Iterating starts the next epoch; right after `load_state_dict` it resumes the saved one.
    """

    def __init__(
        self,
        source: TokenStore | None,
        target: TokenStore,
        lines: NDArray[Any],
        batches: TokenBudgetBatches,
        links: TokenStore | None = None,
    ) -> None:
        self._source, self._target, self._links = source, target, links
        self._lines = lines
        self._batches = batches
        self._epoch = 0
        self._given = 0  # batches returned in this epoch
        self._resumed = False

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[Batch]:
        """The batches of an epoch, or the rest of one."""
        # all of this happens at the first batch, so that unused iterators change nothing
        if self._given == len(self) or (self._given > 0 and not self._resumed):
            self._epoch, self._given = self._epoch + 1, 0
        self._resumed = False
        for numbers in self._batches.epoch(self._epoch)[self._given :]:
            self._given += 1
            yield self._batch(self._lines[numbers])

    def _batch(self, lines: NDArray[Any]) -> Batch:
        source = None if self._source is None else [self._source[line] for line in lines]
        links = None if self._links is None else [self._links[line] for line in lines]
        return make_batch(source, [self._target[line] for line in lines], lines, links)

    def largest(self) -> list[Batch]:
        """The batches that need the most memory."""
        return [self._batch(self._lines[numbers]) for numbers in self._batches.largest()]

    def state_dict(self) -> dict[str, int]:
        """Which epoch, and how many of its batches were returned."""
        return {"epoch": self._epoch, "given": self._given}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Let the next iteration resume after the last batch that the saved loader returned."""
        self._epoch, self._given = state["epoch"], state["given"]
        self._resumed = True


def encode_source(tokenizer: Tokenizer, lines: Sequence[str], *, max_tokens: int) -> list[Batch]:
    """Batches of source sentences of similar lengths, their target only <s>; ``index`` is the line's number."""
    source = tokenizer.encode(lines)
    similar = _similar(None, _positions(source, lines), max_tokens)
    return [make_source_batch([source[number] for number in numbers], numbers) for numbers in similar]


def encode_sentences(tokenizer: Tokenizer, lines: Sequence[str], *, max_tokens: int) -> list[Batch]:
    """Batches of sentences of similar lengths, as targets; ``index`` is the line's number."""
    target = tokenizer.encode(lines)
    similar = _similar(None, _positions(target, lines), max_tokens)
    return [make_batch(None, [target[number] for number in numbers], numbers) for numbers in similar]


def encode_pairs(
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    max_tokens: int,
) -> list[Batch]:
    """Batches of pairs of similar lengths; ``index`` is the pair's number."""
    return pair_batches(source_tokenizer.encode(sources), target_tokenizer.encode(targets), max_tokens=max_tokens)


def pair_batches(source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], *, max_tokens: int) -> list[Batch]:
    """The same from ids without special tokens."""
    similar = _similar(_positions(source), _positions(target), max_tokens)
    return [
        make_batch([source[number] for number in numbers], [target[number] for number in numbers], numbers)
        for numbers in similar
    ]


def share(batch: Batch, lines: Sequence[str], tokenizers: Sequence[Tokenizer]) -> Shared:
    """``batch`` of ``lines``, and its sources again in the ids of each of ``tokenizers``."""
    texts = [lines[number] for number in batch.index.tolist()]
    others = [make_source_batch(tokenizer.encode(texts), batch.index.numpy()) for tokenizer in tokenizers]
    changed = (replace(batch, source=b.source, source_lengths=b.source_lengths) for b in others)
    return Shared((batch, *changed))


def _positions(sentences: Sequence[Sequence[int]], lines: Sequence[str] = ()) -> NDArray[np.int64]:
    """How many positions each sentence takes, including </s>. UserError: more than `LONGEST`; it quotes the line."""
    for number, ids in enumerate(sentences):
        if len(ids) > LONGEST:
            quoted = f" that begins with {lines[number][:40]!r}" if lines else ""
            raise UserError(
                f"a line{quoted} has {len(ids):,} tokens, and a sentence may have at most {LONGEST:,}; split it"
            )
    return np.array([len(ids) + 1 for ids in sentences], dtype=np.int64)


def _similar(
    source_lengths: NDArray[np.int64] | None, target_lengths: NDArray[np.int64], max_tokens: int
) -> list[NDArray[np.intp]]:
    """The numbers of sentences of similar lengths, a batch at a time."""
    batches = TokenBudgetBatches(source_lengths, target_lengths, max_tokens=max_tokens, shuffle=False, seed=0)
    return batches.epoch(0)
