"""Dropout for recurrent networks (Srivastava et al. 2014): kept elements are divided by 1 - p; none in evaluation.

Letters: B batch, T steps, H size, V vocabulary, E embedding size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class VariationalDropout(nn.Module):
    """Drops the same elements in all steps of a layer's input or output (Gal and Ghahramani 2016, section 4).

    Recurrent products are not dropped, so that they stay fast.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, inputs: Tensor) -> Tensor:
        """``(B, T, H)`` -> ``(B, T, H)``: one mask (B, 1, H), drawn at every call."""
        if not self.training or self.p == 0:
            return inputs
        return inputs * functional.dropout(inputs.new_ones(inputs.shape[0], 1, inputs.shape[2]), self.p)


class WordDropout(nn.Module):
    """Drops whole words (Gal and Ghahramani 2016, section 4.2): all occurrences of a word, or none."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, embedding: nn.Embedding, tokens: Tensor) -> Tensor:
        """Words ``(B, T)`` -> embeddings ``(B, T, E)``."""
        embedded: Tensor = embedding(tokens)
        if not self.training or self.p == 0:
            return embedded
        kept = functional.dropout(torch.ones_like(embedding.weight[:, 0]), self.p)  # (V,)
        return embedded * kept[tokens].unsqueeze(-1)
