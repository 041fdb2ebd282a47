"""Recurrent language models: p(x_t | x_<t) = softmax(R h_t + c), h_t = f(x_{t-1}, h_{t-1}) (Cho's lecture).

Letters: B batch, T length, E embedding size, H hidden size, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import UserError
from unrolled.models.cells import Cell, CellState, make_cell
from unrolled.models.dropout import VariationalDropout, WordDropout
from unrolled.models.initialise import initialise
from unrolled.models.sentences import PredictedWords, Sentences
from unrolled.models.trace import Trace, Tracer
from unrolled.text.tokens import PAD

Nested = tuple[Any, ...]
Unroll = Callable[[Cell, Tensor, CellState], tuple[Tensor, CellState]]
"""All steps of a cell: the cell, inputs ``(B, T, I)``, state -> outputs ``(B, T, H)``, last state."""
LOGITS = 2**24
"""The number of logits that `word_log_probs` holds at a time."""


class LanguageModel(nn.Module):
    """What search and scoring require of a language model."""

    def zero_state(self, batch: int) -> Nested:
        """The state before the first word, for ``batch`` sentences."""
        raise NotImplementedError

    def step(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """Previous words ``(B,)`` -> log-probabilities of the next ``(B, V)`` in float32 or wider, next state."""
        raise NotImplementedError

    def start(self, batch: Sentences) -> Nested:
        """The state before the first word, rows as in ``batch.target``."""
        return self.zero_state(len(batch.target))

    def word_log_probs(self, batch: PredictedWords, state: Nested) -> tuple[Tensor, Nested]:
        """Natural log p(x_t | x_<t) of ``batch.target_out``, ``(B, T)`` in float32 or wider, 0 at padding; last state.

        Equal to ``step`` for the same words one by one, but computed for all of them at once.
        """
        raise NotImplementedError


class NeuralLanguageModel(LanguageModel):
    """A network from the previous words to a hidden vector, with a soft-max readout."""

    output: nn.Linear
    """Hidden vectors ``(..., R)`` -> logits ``(..., V)``."""

    def forward(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """Teacher forcing: words ``(B, T)`` -> hidden vectors for ``output`` ``(B, T, R)``, last state."""
        raise NotImplementedError

    @override
    def step(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        outputs, state = self(tokens.unsqueeze(1), state)
        return self._log_softmax(outputs.squeeze(1)), state

    @override
    def word_log_probs(self, batch: PredictedWords, state: Nested) -> tuple[Tensor, Nested]:
        """Computes the logits of some words at a time."""
        hidden, state = self(batch.target_in, state)
        counted = batch.target_out_valid
        words = batch.target_out[counted]
        rows = max(1, LOGITS // self.output.out_features)
        chunks = [
            self._log_softmax(vectors).gather(1, predicted.unsqueeze(1)).squeeze(1)
            for vectors, predicted in zip(hidden[counted].split(rows), words.split(rows), strict=True)
        ]
        log_probs = hidden.new_zeros(counted.shape, dtype=chunks[0].dtype)
        log_probs[counted] = torch.cat(chunks)
        return log_probs, state

    def _log_softmax(self, hidden: Tensor) -> Tensor:
        """``(N, R)`` -> ``(N, V)``."""
        logits = self.output(hidden)
        return torch.log_softmax(logits.float() if logits.dtype.itemsize < 4 else logits, dim=-1)


class RecurrentLanguageModel(NeuralLanguageModel):
    """``layers`` stacked cells over word embeddings, and a soft-max readout. h_0 = 0.

    ``dropout`` applies to the input of each layer and the output of the last, ``embedding_dropout`` to whole words.
    """

    def __init__(
        self,
        *,
        embedding: nn.Embedding,
        cells: list[Cell],
        hidden_size: int,
        dropout: nn.Dropout | VariationalDropout,
        embedding_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.word_dropout = WordDropout(embedding_dropout)
        self.layers = nn.ModuleList(cells)
        self.dropout = dropout
        self.output = nn.Linear(hidden_size, embedding.num_embeddings)  # R and c

    def cells(self) -> list[Cell]:
        """The layers' cells, the lowest first."""
        return cast(list[Cell], list(self.layers))

    def zero_state(self, batch: int) -> Nested:
        """h_0 = 0 in every layer: one tuple per layer, each tensor ``(B, H)``."""
        return tuple(cell.start(self.embedding.weight, batch) for cell in self.cells())

    def forward(
        self, tokens: Tensor, state: Nested, unroll: Unroll = lambda cell, *inputs: cell.unroll(*inputs)
    ) -> tuple[Tensor, Nested]:
        """Teacher forcing: words ``(B, T)`` -> hidden vectors for ``output`` ``(B, T, H)``, last state."""
        outputs = self.dropout(self.word_dropout(self.embedding, tokens))
        following = []
        for cell, cell_state in zip(self.cells(), state, strict=True):
            outputs, cell_state = unroll(cell, outputs, cell_state)
            outputs = self.dropout(outputs)
            following.append(cell_state)
        return outputs, tuple(following)

    def trace(self, batch: PredictedWords) -> Trace:
        """See `unrolled.models.trace.Recurrent`."""
        tracer = Tracer()
        hidden, _ = self(batch.target_in, self.zero_state(len(batch.target_in)), tracer)
        log_probs = self._log_softmax(hidden.flatten(0, 1)).gather(1, batch.target_out.reshape(-1, 1))
        return Trace(tracer.states(), log_probs.view_as(batch.target_out))


def rnn_lm(
    *,
    source_vocabulary: int | None,
    target_vocabulary: int,
    attention: Any,
    cell: str,
    embedding_size: int,
    hidden_size: int,
    layers: int,
    dropout: float,
    variational: bool,
    embedding_dropout: float,
    tied_embeddings: bool,
    orthogonal: bool,
) -> RecurrentLanguageModel:
    """The lecture's RNN language model with ``cell`` tanh, gru (reset before), gru_reset_after or lstm.

    ``source_vocabulary`` is ignored: a language model reads the target side of parallel text.
    """
    if attention is not None:
        raise UserError("model=rnn_lm has no source to look at: omit attention=..., or use a translation model")
    if tied_embeddings and embedding_size != hidden_size:
        raise UserError(
            f"model.tied_embeddings=true needs model.embedding_size ({embedding_size}) equal to model.hidden_size "
            f"({hidden_size})"
        )
    sizes = [embedding_size] + [hidden_size] * (layers - 1)
    model = RecurrentLanguageModel(
        embedding=nn.Embedding(target_vocabulary, embedding_size, padding_idx=PAD),
        cells=[make_cell(cell, input_size=size, hidden_size=hidden_size) for size in sizes],
        hidden_size=hidden_size,
        dropout=VariationalDropout(dropout) if variational else nn.Dropout(dropout),
        embedding_dropout=embedding_dropout,
    )
    initialise(
        model,
        output=model.output,
        embedding_size=embedding_size,
        read_by=[model.cells()[0].project],
        orthogonal=orthogonal,
    )
    if tied_embeddings:
        model.output.weight = model.embedding.weight
    return model
