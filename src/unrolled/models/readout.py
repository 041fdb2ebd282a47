"""Readouts: decoder state, context and previous embedding to vocabulary logits.

Letters: N any leading dimensions, D decoder size, C annotation size, E embedding size, V vocabulary.
Each has ``hidden(features, embeddings) -> (N, R)`` and a last linear map ``output`` to ``(N, V)``, so that training can
compute the soft-max only at the positions that count, for all steps at once. ``hidden`` is ``join`` of the features and
``project(embeddings) -> (N, P)``, what a readout computes from the previous words alone. ``context_layers`` read
the context alone; a readout has them if nothing else in ``join`` reads it.
"""

import torch
from torch import Tensor, nn

from unrolled.models.decoder import Features
from unrolled.models.fast.squash import tanh


class DeepReadout(nn.Module):
    """dl4mt's readout: softmax(W_o tanh(W_s s + W_y E y + W_c c)), hidden size E."""

    def __init__(
        self,
        *,
        state_size: int,
        annotation_size: int,
        embedding_size: int,
        vocabulary_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.state = nn.Linear(state_size, embedding_size)
        self.embedding = nn.Linear(embedding_size, embedding_size, bias=False)
        self.context = nn.Linear(annotation_size, embedding_size, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(embedding_size, vocabulary_size)

    def hidden(self, features: Features, embeddings: Tensor) -> Tensor:
        """t = tanh(W_s s + W_y E y + W_c c): ((N, D), (N, C)), (N, E) -> (N, E)."""
        return self.join(features, self.project(embeddings))

    def project(self, embeddings: Tensor) -> Tensor:
        """W_y E y: (N, E) -> (N, E)."""
        return self.embedding(embeddings)

    def join(self, features: Features, projected: Tensor) -> Tensor:
        """``hidden`` from ``project``."""
        s, c = features
        return self.dropout(tanh(self.state(s) + projected + self.context(c)))

    def context_layers(self) -> tuple[nn.Linear, ...]:
        """W_c."""
        return (self.context,)


class MaxoutReadout(nn.Module):
    """RNNsearch's readout (Bahdanau et al. 2015, A.2.2): W_o t_i, t_i the maxout over pairs of
    t~_i = U_o s_{i-1} + V_o E y_{i-1} + C_o c_i, ``(N, 2R) -> (N, R)`` with R = E."""

    def __init__(
        self,
        *,
        state_size: int,
        annotation_size: int,
        embedding_size: int,
        vocabulary_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.state = nn.Linear(state_size, 2 * embedding_size)  # U_o
        self.embedding = nn.Linear(embedding_size, 2 * embedding_size, bias=False)  # V_o
        self.context = nn.Linear(annotation_size, 2 * embedding_size, bias=False)  # C_o
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(embedding_size, vocabulary_size)  # W_o

    def hidden(self, features: Features, embeddings: Tensor) -> Tensor:
        """t_i = [max{t~_{i,2j-1}, t~_{i,2j}}]_j: ((N, D), (N, C)), (N, E) -> (N, E)."""
        return self.join(features, self.project(embeddings))

    def project(self, embeddings: Tensor) -> Tensor:
        """V_o E y: (N, E) -> (N, 2E)."""
        return self.embedding(embeddings)

    def join(self, features: Features, projected: Tensor) -> Tensor:
        """``hidden`` from ``project``."""
        s, c = features
        t = self.state(s) + projected + self.context(c)
        return self.dropout(t.unflatten(-1, (-1, 2)).amax(dim=-1))

    def context_layers(self) -> tuple[nn.Linear, ...]:
        """C_o."""
        return (self.context,)


class LinearReadout(nn.Module):
    """The write-up's readout: softmax(L2 [s; c]). ``embedding_size`` is ignored; all readouts are built alike."""

    def __init__(
        self,
        *,
        state_size: int,
        annotation_size: int,
        embedding_size: int,
        vocabulary_size: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(state_size + annotation_size, vocabulary_size)  # L2

    def hidden(self, features: Features, embeddings: Tensor) -> Tensor:
        """[s; c]: ((N, D), (N, C)) -> (N, D + C). The previous word's embedding is not used."""
        return self.join(features, self.project(embeddings))

    def project(self, embeddings: Tensor) -> Tensor:
        """Nothing: (N, E) -> (N, 0)."""
        return embeddings[..., :0]

    def join(self, features: Features, projected: Tensor) -> Tensor:
        """``hidden`` from ``project``."""
        s, c = features
        return self.dropout(torch.cat([s, c.to(s.dtype)], dim=-1))


Readout = DeepReadout | MaxoutReadout | LinearReadout
