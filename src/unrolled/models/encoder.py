"""Bidirectional encoders, one class per equation: source embeddings to annotations h_i = [forward h_i; backward h_i].

Letters: B batch, S source length, E embedding size, C annotation size, twice the ``size`` of one direction.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from unrolled.models.cells import Cell, GRUResetBefore
from unrolled.models.fast.cells import GRUResetAfterKernel, unroll_cell
from unrolled.models.fast.linear import linear


def mean_annotation(annotations: Tensor, valid: Tensor) -> Tensor:
    """The mean over valid positions: ``(B, S, C)``, bool ``(B, S)`` -> ``(B, C)`` (dl4mt's context mean)."""
    mask = valid.unsqueeze(-1).to(annotations.dtype)
    return (annotations * mask).sum(dim=1) / mask.sum(dim=1)


class Encoder(nn.Module):
    """The contract."""

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(B, S, E)`` and lengths ``(B,)`` on the CPU -> annotations ``(B, S, C)``, zero at padding."""
        raise NotImplementedError


class Reverse:
    """Reverses the words of sentences ``(B, S, N)``, keeping the padding at the end.

    ``padding`` is True there, bool ``(B, S, 1)``.
    """

    def __init__(self, embeddings: Tensor, lengths: Tensor) -> None:
        positions = torch.arange(embeddings.shape[1], device=embeddings.device)
        ends = lengths.to(embeddings.device, non_blocking=True).unsqueeze(1)
        self.padding = (positions >= ends).unsqueeze(-1)
        # position i of the reversed sentence is position length - 1 - i
        self._mirror = torch.where(positions < ends, ends - 1 - positions, positions).unsqueeze(-1)

    def __call__(self, outputs: Tensor) -> Tensor:
        """``(B, S, N)``, reversed."""
        return outputs.gather(1, self._mirror.expand_as(outputs))


class BidirectionalGRU(Encoder):
    """Annotations h_i = [forward h_i; backward h_i] from a bidirectional GRU, reset after as in dl4mt and cuDNN.

    ``layers`` GRUs are stacked with ``dropout`` between them. ``size`` is that of one direction.
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

    @override
    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """Training on a CPU uses ``GRUResetAfterKernel``: nn.GRU is fused only on GPUs."""
        if torch.is_grad_enabled() and not embeddings.is_cuda:
            return self.annotate(embeddings, lengths)
        return self.annotate_by_torch(embeddings, lengths)

    def annotate_by_torch(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """The definition of ``forward``: nn.GRU over packed sentences."""
        # sorted here: with enforce_sorted=False torch would wait for a GPU
        order = lengths.argsort(descending=True, stable=True)
        longest_first, back = (numbers.to(embeddings.device, non_blocking=True) for numbers in (order, order.argsort()))
        ordered = embeddings.index_select(0, longest_first)
        packed = nn.utils.rnn.pack_padded_sequence(ordered, lengths[order], batch_first=True)
        outputs, _ = self.gru(packed)
        annotations, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True, total_length=embeddings.shape[1])
        return torch.as_tensor(annotations).index_select(0, back)

    def annotate(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``forward`` with a hand-written backward pass."""

        def unroll(name: str, inputs: Tensor) -> Tensor:
            w, u, b, c = (
                getattr(self.gru, f"{what}_{name}") for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            start = inputs.new_zeros(len(inputs), self.gru.hidden_size, dtype=embeddings.dtype)
            return unroll_cell(GRUResetAfterKernel(u, c), start, linear(inputs.transpose(0, 1), w, b))

        reverse = Reverse(embeddings, lengths)
        outputs = embeddings
        for layer in range(self.gru.num_layers):
            inputs = functional.dropout(outputs, self.gru.dropout, self.training) if layer else outputs
            left, right = unroll(f"l{layer}", inputs), unroll(f"l{layer}_reverse", reverse(inputs))
            outputs = torch.cat([left, reverse(right)], dim=-1)
        return outputs.masked_fill(reverse.padding, 0.0)


class BidirectionalGRUResetBefore(Encoder):
    """RNNsearch's encoder: reset-before GRUs in both directions, starting at 0 (Bahdanau et al. 2015, A.2.1).

    ``layers`` are stacked with ``dropout`` between them.
    """

    def __init__(self, *, embedding_size: int, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        sizes = [embedding_size] + [2 * size] * (layers - 1)
        self.forward_cells = nn.ModuleList(GRUResetBefore(input_size=i, hidden_size=size) for i in sizes)
        self.backward_cells = nn.ModuleList(GRUResetBefore(input_size=i, hidden_size=size) for i in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """``(B, S, E)`` and lengths ``(B,)`` on the CPU -> annotations ``(B, S, C)``, zero at padding."""
        reverse = Reverse(embeddings, lengths)
        outputs = embeddings
        cells = cast(list[tuple[Cell, Cell]], list(zip(self.forward_cells, self.backward_cells, strict=True)))
        for layer, (forward, backward) in enumerate(cells):
            inputs = self.dropout(outputs) if layer else outputs
            start = forward.start(embeddings, len(inputs))
            left, _ = forward.unroll(inputs, start)
            right, _ = backward.unroll(reverse(inputs), start)
            outputs = torch.cat([left, reverse(right)], dim=-1)
        return outputs.masked_fill(reverse.padding, 0.0)
