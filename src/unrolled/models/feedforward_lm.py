"""The neural probabilistic language model: p(x_t | n - 1 words before) by a hidden layer (Bengio et al. 2000, 2003).

Letters: B batch, T length, n order, E embedding size, H hidden size, V vocabulary. With the words' embeddings
concatenated, x = [C(x_{t-1}); ...; C(x_{t-n+1})], the paper's equation (1) is

    y = b + W x + U tanh(d + H x),    p(x_t | x_{t-n+1} ... x_{t-1}) = softmax(y)

where W = 0 without direct connections. A sentence is preceded by as many <s> as needed.
"""

from typing import Any

import torch
from torch import Tensor, nn

from unrolled.errors import Numbers, UserError, check
from unrolled.models.initialise import initialise
from unrolled.models.language_model import Nested, NeuralLanguageModel
from unrolled.text.tokens import BOS, PAD


class FeedForwardLanguageModel(NeuralLanguageModel):
    """The equations above; the state is the last n - 2 words ``(B, n - 2)``."""

    def __init__(self, *, embedding: nn.Embedding, order: int, hidden_size: int, direct: bool, dropout: float) -> None:
        super().__init__()
        window = (order - 1) * embedding.embedding_dim
        self.order = order
        self.embedding = embedding  # C
        self.hidden = nn.Linear(window, hidden_size)  # H and d
        self.direct = direct
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden_size + (window if direct else 0), embedding.num_embeddings)  # [U, W] and b

    def zero_state(self, batch: int) -> Nested:
        """n - 2 times <s> ``(B, n - 2)``; the remaining <s> is the first word that is read."""
        return (torch.full((batch, self.order - 2), BOS, device=self.embedding.weight.device),)

    def forward(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """Teacher forcing: words ``(B, T)`` -> [tanh(d + H x); x], or only tanh(...) ``(B, T, R)``, last state."""
        (before,) = state
        words = torch.cat([before, tokens], dim=1)
        # x for every position: the window of n - 1 words that ends there, the latest first
        windows = words.unfold(1, self.order - 1, 1).flip(-1)
        x = self.dropout(self.embedding(windows).flatten(-2))
        hidden = self.dropout(torch.tanh(self.hidden(x)))
        return torch.cat([hidden, x], dim=-1) if self.direct else hidden, (words[:, tokens.shape[1] :],)


def feedforward_lm(
    *,
    source_vocabulary: int | None,
    target_vocabulary: int,
    attention: Any,
    order: int,
    embedding_size: int,
    hidden_size: int,
    direct: bool,
    dropout: float,
) -> FeedForwardLanguageModel:
    """Build the model; ``order`` n counts the predicted word. ``source_vocabulary`` is ignored."""
    if attention is not None:
        raise UserError("model=feedforward_lm has no source to look at: omit attention=...")
    check("model.order", order, Numbers(least=2, whole=True))  # a word is predicted from order - 1 words before it
    model = FeedForwardLanguageModel(
        embedding=nn.Embedding(target_vocabulary, embedding_size, padding_idx=PAD),
        order=order,
        hidden_size=hidden_size,
        direct=direct,
        dropout=dropout,
    )
    initialise(
        model,
        output=model.output,
        embedding_size=embedding_size,
        read_by=[lambda word: model.hidden(word.tile(1, order - 1))],
        orthogonal=False,
    )
    return model
