"""The bidirectional encoder: source embeddings to annotations."""

import torch
from torch import Tensor, nn


def mean_annotation(annotations: Tensor, valid: Tensor) -> Tensor:
    """The mean over valid positions: ``(B, S, C)``, bool ``(B, S)`` -> ``(B, C)`` (dl4mt's context mean)."""
    mask = valid.unsqueeze(-1).to(annotations.dtype)
    return (annotations * mask).sum(dim=1) / mask.sum(dim=1)


class BidirectionalGRU(nn.Module):
    """Annotations h_i = [forward h_i; backward h_i] from a bidirectional GRU, reset after as in dl4mt and cuDNN.

    ``layers`` GRUs stand on each other with ``dropout`` between them. ``size`` is one direction's.
    """

    def __init__(self, *, embedding_size: int, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.annotation_size = 2 * size
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
