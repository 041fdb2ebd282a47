"""Sentences as rows of padded tensors.

Shape letters: B batch, S source length, T target length, both with their special tokens and padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unrolled.text.tokens import BOS, EOS, PAD


@dataclass(eq=False)  # not frozen: Lightning assigns tensors that it has converted to another precision
class Batch:
    """A batch of sentence pairs, or of sentences (then the source is None). All tensors but the masks are int64.

    source: (B, S), a row is ids </s> and padding. target: (B, T), a row is <s> ids </s> and padding.
    source_lengths, target_lengths: (B,), without padding; they and ``index`` are always on the CPU.
    index: (B,), the number of each sentence's line in its file, from 0.
    known: (B, T - 1, S) float32, the known alignment of ``target_out``: the weights of a linked word sum to 1, those of
    an unlinked one are 0; None where there is no known alignment.
    """

    source: Tensor | None
    source_lengths: Tensor | None
    target: Tensor
    target_lengths: Tensor
    index: Tensor
    known: Tensor | None = None

    def __len__(self) -> int:
        """Number of sentences."""
        return self.target.shape[0]

    @property
    def source_valid(self) -> Tensor:
        """(B, S) bool, True at real tokens."""
        if self.source is None:
            raise TypeError("this batch has no source")
        return self.source != PAD

    @property
    def target_valid(self) -> Tensor:
        """(B, T) bool, True at real tokens."""
        return self.target != PAD

    @property
    def target_in(self) -> Tensor:
        """(B, T - 1): what the decoder reads, <s> ids."""
        return self.target[:, :-1]

    @property
    def target_out(self) -> Tensor:
        """(B, T - 1): what it should predict, ids </s>."""
        return self.target[:, 1:]

    @property
    def target_out_valid(self) -> Tensor:
        """(B, T - 1) bool, True at real tokens of ``target_out``."""
        return self.target_out != PAD

    @property
    def counted(self) -> Tensor:
        """(N,): the real tokens of ``target_out``, as numbers of its positions row by row, from 0; on its device.

        Computed from the lengths on the CPU, so that nothing waits for a GPU, as it would with ``target_out_valid``.
        """
        valid = torch.arange(self.target.shape[1] - 1) < (self.target_lengths - 1).unsqueeze(1)
        return valid.flatten().nonzero().squeeze(1).to(self.target.device, non_blocking=True)

    def to(self, device: torch.device | str, **options: Any) -> "Batch":
        """The batch with source and target on ``device``; ``options`` are those of Tensor.to."""
        return replace(
            self,
            source=None if self.source is None else send(self.source, device, **options),
            target=send(self.target, device, **options),
            known=None if self.known is None else send(self.known, device, **options),
        )


def send(tensor: Tensor, device: torch.device | str, **options: Any) -> Tensor:
    """``tensor.to(device, **options)``, where a copy to a GPU does not wait for the work that it has still to do."""
    return tensor.to(device, **{"non_blocking": torch.device(device).type != "cpu"} | options)


@dataclass(frozen=True, eq=False)
class Shared:
    """The same sentences in the ids of several source vocabularies, in the same rows: what an ensemble reads."""

    members: tuple[Batch, ...]

    @property
    def source_lengths(self) -> Tensor:
        """(B,): the maximum over all members, on the CPU."""
        return torch.stack([torch.as_tensor(member.source_lengths) for member in self.members]).amax(dim=0)

    @property
    def target(self) -> Tensor:
        """(B, T), the same for all members."""
        return self.members[0].target

    @property
    def target_lengths(self) -> Tensor:
        """(B,)."""
        return self.members[0].target_lengths

    @property
    def index(self) -> Tensor:
        """(B,)."""
        return self.members[0].index

    def to(self, device: torch.device | str) -> "Shared":
        """With sources and targets on ``device``."""
        return Shared(tuple(member.to(device) for member in self.members))


Ids = Sequence[int] | np.ndarray[Any, Any]


def make_batch(
    source: Sequence[Ids] | None,
    target: Sequence[Ids],
    index: Sequence[int] | np.ndarray[Any, Any],
    links: Sequence[Ids] | None = None,
) -> Batch:
    """Pad sentences (ids without special tokens) to a batch.

    ``links``: for each pair the triples of `pieces.piece_links`, flattened.
    """
    source_ids, source_lengths = (None, None) if source is None else _pad(source, before=[], after=[EOS])
    target_ids, target_lengths = _pad(target, before=[BOS], after=[EOS])
    known = None
    if links is not None and source_ids is not None:
        known = _known(links, steps=target_ids.shape[1] - 1, length=source_ids.shape[1])
    lines = torch.as_tensor(index, dtype=torch.int64)
    return Batch(source_ids, source_lengths, target_ids, target_lengths, lines, known)


def _known(links: Sequence[Ids], *, steps: int, length: int) -> Tensor:
    """``(B, steps, length)``: weight 1/n where a piece is linked."""
    known = np.zeros((len(links), steps, length), dtype=np.float32)
    pairs = np.repeat(np.arange(len(links)), [len(flat) // 3 for flat in links])
    sources, targets, n = _joined(links).reshape(-1, 3).T
    known[pairs, targets, sources] = 1 / n
    return torch.from_numpy(known)


def make_source_batch(source: Sequence[Ids], index: Sequence[int] | np.ndarray[Any, Any]) -> Batch:
    """Pad source sentences to a batch whose target, (B, 1), is only <s>: what translation starts from."""
    source_ids, source_lengths = _pad(source, before=[], after=[EOS])
    target = torch.full((len(source), 1), BOS)
    return Batch(
        source_ids,
        source_lengths,
        target,
        torch.ones(len(source), dtype=torch.int64),
        torch.as_tensor(index, dtype=torch.int64),
    )


def _pad(sentences: Sequence[Ids], *, before: list[int], after: list[int]) -> tuple[Tensor, Tensor]:
    """(B, longest) ids and (B,) lengths, with ``before`` and ``after`` around every sentence."""
    start, extra = len(before), len(before) + len(after)
    lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)
    padded = np.full((len(sentences), lengths.max() + extra), PAD, dtype=np.int64)
    padded[:, :start] = before
    place = np.arange(padded.shape[1] - start) - lengths[:, None]  # 0 right after a sentence
    padded[:, start:][place < 0] = _joined(sentences)
    for number, token in enumerate(after):
        padded[:, start:][place == number] = token
    return torch.from_numpy(padded), torch.from_numpy(lengths + extra)


def _joined(sequences: Sequence[Ids]) -> np.ndarray[Any, Any]:
    """All of them one after the other."""
    return np.concatenate(sequences, dtype=np.int64, casting="unsafe")
