"""A trained model as two functions of tensors: ``start`` reads a sentence, ``step`` says the next word.

Letters: B sentences, N rows (hypotheses, each with the state of its sentence), S source length, V vocabulary.
A state is a list of tensors: first the parts of a sentence, which no step changes, then what a step hands on.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unrolled.errors import UserError, called
from unrolled.exported.onnx_encoder import OnnxEncoder
from unrolled.models.language_model import NeuralLanguageModel, RecurrentLanguageModel
from unrolled.models.state import PerSentence
from unrolled.models.translator import Translator

Nested = Any


def leaves(state: Nested, of_sentence: bool = False) -> Iterator[tuple[Tensor, bool]]:
    """The tensors of a state in order, and whether each is a part of its sentence."""
    if isinstance(state, Tensor):
        yield state, of_sentence
        return
    for inner in state:
        yield from leaves(inner, of_sentence or isinstance(inner, PerSentence))


def nested(like: Nested, tensors: Iterator[Tensor]) -> Nested:
    """The inverse of `leaves`: a state built as ``like`` from its tensors."""
    return next(tensors) if isinstance(like, Tensor) else type(like)(nested(inner, tensors) for inner in like)


class Start(nn.Module):
    """Source ``(B, S)``, lengths ``(B,)`` -> the tensors of the state before the first target word."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.model = model
        self.encoder = OnnxEncoder(model.encoder)

    def forward(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, ...]:
        """See above."""
        annotations = self.encoder(self.model.source_embedding(source), lengths)
        valid = torch.arange(source.shape[1]) < lengths.unsqueeze(1)
        return tuple(tensor for tensor, _ in leaves(self.model.decoder.start(annotations, valid)))


class Step(nn.Module):
    """Previous words ``(N,)`` and the state -> log p ``(N, V)``, attention weights ``(N, S)``, what is handed on."""

    def __init__(self, model: Translator, like: Nested) -> None:
        super().__init__()
        self.model = model
        self.like = like

    def forward(self, tokens: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """See above."""
        log_probs, weights, following = self.model.attend(tokens, nested(self.like, iter(state)))
        return log_probs, weights, *(tensor for tensor, of_sentence in leaves(following) if not of_sentence)


class LanguageModelStep(nn.Module):
    """Previous words ``(N,)`` and the state -> log p ``(N, V)``, the next state."""

    def __init__(self, model: NeuralLanguageModel, like: Nested) -> None:
        super().__init__()
        self.model = model
        self.like = like

    def forward(self, tokens: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """By the cells' definitions: their fast paths are for many steps."""
        before, words = nested(self.like, iter(state)), tokens.unsqueeze(1)
        if isinstance(self.model, RecurrentLanguageModel):
            hidden, following = self.model(words, before, lambda cell, *inputs: cell.unroll_plainly(*inputs))
        else:
            hidden, following = self.model(words, before)
        log_probs = torch.log_softmax(self.model.output(hidden.squeeze(1)), dim=-1)
        return log_probs, *(tensor for tensor, _ in leaves(following))


class Graphs(NamedTuple):
    """What is exported of a model."""

    start: nn.Module | None
    """None for a language model, whose state before the first word is one number everywhere."""
    step: nn.Module
    state: list[Tensor]
    """Before the first word, of the example that `example` gives."""
    of_sentence: list[bool]


BATCH, LENGTH = 2, 5
"""The sizes of the example from which graphs are traced."""


def example(batch: int = BATCH, length: int = LENGTH) -> tuple[Tensor, Tensor]:
    """Source ids ``(B, S)`` and lengths ``(B,)``: two sentences or more, the first the longest."""
    return torch.full((batch, length), 3), torch.tensor([length, *[length - 1] * (batch - 1)])


def graphs(model: nn.Module, batch: int = BATCH, length: int = LENGTH) -> Graphs:
    """The graphs of ``model``. UserError: a model that has none."""
    if isinstance(model, Translator):
        with torch.no_grad():
            state = model.decoder.start(*model.encode(*example(batch, length)))
        parts: tuple[nn.Module | None, nn.Module] = Start(model), Step(model, state)
    elif isinstance(model, NeuralLanguageModel):
        state = model.zero_state(batch)
        parts = None, LanguageModelStep(model, state)
    else:
        raise UserError(f"{type(model).__name__} cannot be exported: {called('arpa')} writes an n-gram model")
    tensors = list(leaves(state))
    # an LSTM's state begins with one tensor twice, which the exporter would take for one input
    return Graphs(*parts, [tensor.clone() for tensor, _ in tensors], [of_sentence for _, of_sentence in tensors])


def dynamic_axes(model: nn.Module) -> list[dict[int, str]]:
    """For every tensor of the state, the axes whose size is not fixed: "batch" or "length"."""
    first, *others = (graphs(model, *sizes).state for sizes in ((2, 5), (3, 5), (2, 7)))
    return [
        {
            axis: name
            for axis in range(tensor.dim())
            for name, other in zip(("batch", "length"), pair, strict=True)
            if other.shape[axis] != tensor.shape[axis]
        }
        for tensor, *pair in zip(first, *others, strict=True)
    ]
