"""Bidirectional encoders as ONNX's GRU operator, which knows the length of every sentence.

Letters: B batch, S source length, E input size, H size of one direction, C = 2H.
"""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn

from unrolled.errors import UserError
from unrolled.models.cells import GRUResetBefore
from unrolled.models.encoder import BidirectionalGRU, BidirectionalGRUResetBefore, Encoder

Direction = tuple[Tensor, Tensor, Tensor]
"""ONNX's W ``(3H, E)``, R ``(3H, H)`` and both biases ``(6H,)`` of one direction: gates z, r, candidate."""


class OnnxEncoder(nn.Module):
    """``encoder`` in ONNX: embeddings ``(B, S, E)``, lengths ``(B,)`` -> annotations ``(B, S, C)``, zero at padding.

    It can only be exported. UserError: an encoder that is not ours.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        if isinstance(encoder, BidirectionalGRU):
            layers, self.reset_after = list(_reset_after(encoder.gru)), 1
        elif isinstance(encoder, BidirectionalGRUResetBefore):
            layers, self.reset_after = list(_reset_before(encoder)), 0
        else:
            raise UserError(
                f"{type(encoder).__name__} cannot be exported: ONNX knows bidirectional GRUs, reset after or before"
            )
        self.layers = len(layers)
        for number, directions in enumerate(layers):
            for name, parts in zip(("w", "r", "b"), zip(*directions, strict=True), strict=True):
                self.register_buffer(f"{name}{number}", torch.stack(parts).detach())
        self.size = int(self.get_buffer("r0").shape[2])

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """See above."""
        outputs = embeddings.transpose(0, 1)
        for number in range(self.layers):
            weights = (self.get_buffer(f"{name}{number}") for name in ("w", "r", "b"))
            steps, batch, _ = outputs.shape
            both = torch.onnx.ops.symbolic(
                "GRU",
                (outputs, *weights, lengths.to(torch.int32)),
                attrs={
                    "hidden_size": self.size,
                    "direction": "bidirectional",
                    "linear_before_reset": self.reset_after,
                },
                dtype=outputs.dtype,
                shape=(steps, 2, batch, self.size),
            )
            outputs = both.permute(0, 2, 1, 3).flatten(2)
        return outputs.transpose(0, 1)


def _reset_after(gru: nn.GRU) -> Iterator[list[Direction]]:
    """Each layer's two directions. h = (1 - z) candidate + z h, as in ONNX; nn.GRU's order is r, z, candidate."""

    def order(weight: Tensor) -> Tensor:
        r, z, candidate = weight.chunk(3)
        return torch.cat([z, r, candidate])

    for layer in range(gru.num_layers):
        yield [
            (
                order(getattr(gru, f"weight_ih_l{layer}{suffix}")),
                order(getattr(gru, f"weight_hh_l{layer}{suffix}")),
                torch.cat([order(getattr(gru, f"bias_{side}_l{layer}{suffix}")) for side in ("ih", "hh")]),
            )
            for suffix in ("", "_reverse")
        ]


def _reset_before(encoder: BidirectionalGRUResetBefore) -> Iterator[list[Direction]]:
    """Each layer's two directions. h = (1 - u) h + u candidate: ONNX's z is 1 - u = sigma(-x)."""
    pairs = zip(encoder.forward_cells, encoder.backward_cells, strict=True)
    for pair in cast(Iterator[tuple[GRUResetBefore, GRUResetBefore]], pairs):
        yield [
            (
                _negated(cell.input.weight),
                _negated(torch.cat([cell.recurrent_gates.weight, cell.recurrent.weight])),
                torch.cat([_negated(cell.input.bias), torch.zeros_like(cell.input.bias)]),
            )
            for cell in pair
        ]


def _negated(weight: Tensor) -> Tensor:
    """r, u, candidate -> -u, r, candidate."""
    r, u, candidate = weight.chunk(3)
    return torch.cat([-u, r, candidate])
