"""Bidirectional encoders, one class an equation: source embeddings to annotations h_i = [forward h_i; backward h_i].

Letters: B batch, S source length, E embedding size, C annotation size, twice the ``size`` of one direction.
"""

from typing import cast

import torch
from torch import Tensor, nn

from unrolled.models.cells import Cell, GRUResetBefore, unroll


def mean_annotation(annotations: Tensor, valid: Tensor) -> Tensor:
    """The mean over valid positions: ``(B, S, C)``, bool ``(B, S)`` -> ``(B, C)`` (dl4mt's context mean)."""
    mask = valid.unsqueeze(-1).to(annotations.dtype)
    return (annotations * mask).sum(dim=1) / mask.sum(dim=1)


class Encoder(nn.Module):
    """The contract."""

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(B, S, E)`` and lengths ``(B,)`` on the CPU -> annotations ``(B, S, C)``, zero at padding."""
        raise NotImplementedError


class BidirectionalGRU(Encoder):
    """Annotations h_i = [forward h_i; backward h_i] from a bidirectional GRU, reset after as in dl4mt and cuDNN.

    ``layers`` GRUs stand on each other with ``dropout`` between them. ``size`` is one direction's.
    """

    def __init__(self, *, embedding_size: int, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.gru = nn.GRU(
            embedding_size,
            size,
            num_layers=layers,
            batch_first=True,
            bidirectional=True,
            dropout=dropout if layers > 1 else 0.0,
        )

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(B, S, E)`` and lengths ``(B,)`` on the CPU -> annotations ``(B, S, C)``, zero at padding."""
        packed = nn.utils.rnn.pack_padded_sequence(embeddings, lengths, batch_first=True, enforce_sorted=False)
        outputs, _ = self.gru(packed)
        annotations, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=embeddings.shape[1])
        return torch.as_tensor(annotations)


class BidirectionalGRUResetBefore(Encoder):
    """RNNsearch's encoder: reset-before GRUs in both directions, starting at 0 (Bahdanau et al. 2015, A.2.1).

    ``layers`` stand on each other with ``dropout`` between them. torch has no such GRU, so the steps are a Python loop.
    """

    def __init__(self, *, embedding_size: int, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        sizes = [embedding_size] + [2 * size] * (layers - 1)
        self.forward_cells = nn.ModuleList(GRUResetBefore(input_size=i, hidden_size=size) for i in sizes)
        self.backward_cells = nn.ModuleList(GRUResetBefore(input_size=i, hidden_size=size) for i in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(B, S, E)`` and lengths ``(B,)`` on the CPU -> annotations ``(B, S, C)``, zero at padding."""
        positions = torch.arange(embeddings.shape[1], device=embeddings.device)
        ends = lengths.to(embeddings.device).unsqueeze(1)
        valid = (positions < ends).unsqueeze(-1)
        # position i of the reversed sentence is position length - 1 - i; padding stays where it is
        mirror = torch.where(positions < ends, ends - 1 - positions, positions).unsqueeze(-1)
        outputs = embeddings
        cells = cast(list[tuple[Cell, Cell]], list(zip(self.forward_cells, self.backward_cells, strict=True)))
        for layer, (forward, backward) in enumerate(cells):
            inputs = self.dropout(outputs) if layer else outputs
            start = forward.start(embeddings, len(inputs))
            left, _ = unroll(forward, inputs, start)
            right, _ = unroll(backward, inputs.gather(1, mirror.expand_as(inputs)), start)
            outputs = torch.cat([left, right.gather(1, mirror.expand_as(right))], dim=-1)
        return outputs.masked_fill(~valid, 0.0)
