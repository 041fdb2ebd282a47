"""A model to try promises on: built at sizes so small that every promise takes moments, with random parameters.

Letters, here and in the promises: B sentences, S source length, T target length, E embedding size, C annotation size,
D decoder size, V vocabulary.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from unrolled.errors import UserError
from unrolled.models.attention import Attention
from unrolled.models.decoder import Decoder
from unrolled.models.language_model import NeuralLanguageModel
from unrolled.models.translator import Translator

SOURCE_WORDS, TARGET_WORDS = 17, 19
"""The sizes of the vocabularies."""


class Sizes(NamedTuple):
    """The numbers of units: ``size`` is an attention's own, ``other`` that of all other sizes."""

    embedding: int
    encoder: int
    decoder: int
    size: int
    other: int


SMALL = (Sizes(11, 4, 7, 13, 3), Sizes(11, 7, 14, 13, 3), Sizes(8, 8, 16, 16, 8))
"""Different primes, so that a transposed shape fails; where a class refuses them, sizes that go together."""
TINY = (Sizes(1, 1, 2, 2, 1), Sizes(2, 2, 4, 4, 2), Sizes(4, 4, 8, 8, 4))
"""For numerical derivatives. The first have query and annotation size 2."""


class Broken(Exception):
    """A promise that does not hold. The message is the smallest case that shows it."""


class NothingToTry(Exception):
    """A promise that is not about this model; the message says why."""


@dataclass(frozen=True)
class Subject:
    """What is tried: functions that build a model, and the attention that it gets, with the options of conf/.

    ``model(source_vocabulary=, target_vocabulary=, attention=)``, ``attention(query_size=, annotation_size=)``: partial
    functions, whose keywords are the options.
    """

    model: "partial[Any]"
    attention: "partial[Any] | None"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", flat(self.model))
        object.__setattr__(self, "attention", None if self.attention is None else flat(self.attention))

    def build(self, *, seed: int = 0, sizes: Iterable[Sizes] = SMALL, dropout: float = 0.0) -> nn.Module:
        """The model at the first of ``sizes`` that fit, in float64, for evaluation, with parameters from ``seed``.

        ``dropout`` is wherever it has any.
        """
        return randomised(self.initial(sizes, dropout).double(), seed).eval()

    def initial(self, sizes: Iterable[Sizes] = SMALL, dropout: float = 0.0) -> nn.Module:
        """The same with its own initial values, in float32, and with ``dropout`` wherever it has any."""

        def make(chosen: Sizes) -> nn.Module:
            attention = None if self.attention is None else _small(self.attention, chosen, dropout)
            words = {"source_vocabulary": SOURCE_WORDS, "target_vocabulary": TARGET_WORDS}
            model: nn.Module = _small(self.model, chosen, dropout)(**words, attention=attention)
            return model

        return _first_that_fits(make, sizes)

    @property
    def has_dropout(self) -> bool:
        """Whether any option is a dropout."""
        return any(_has_dropout(build) for build in (self.model, self.attention) if build is not None)

    def tiny_attention(self, seed: int = 0) -> tuple[Attention, int]:
        """The attention alone, as `build` makes it, and the size of its queries and annotations.

        NothingToTry: there is none.
        """
        if self.attention is None:
            raise NothingToTry("no attention")
        build = self.attention

        def make(chosen: Sizes) -> tuple[Attention, int]:
            width = chosen.decoder
            return _small(build, chosen)(query_size=width, annotation_size=width), width

        attention, width = _first_that_fits(make, TINY)
        randomised(attention.double(), seed).eval()
        return attention, width


def flat(build: "partial[Any]") -> "partial[Any]":
    """``build`` as one partial function with all its options, whatever it is made of; those in it likewise."""
    options, function = dict(build.keywords), build.func
    while isinstance(function, partial):
        inside: partial[Any] = function
        options, function = {**inside.keywords, **options}, inside.func
    inner = {name: flat(option) for name, option in options.items() if isinstance(option, partial)}
    return partial(function, **{**options, **inner})


Made = TypeVar("Made")


def _first_that_fits(make: Callable[[Sizes], Made], sizes: Iterable[Sizes]) -> Made:
    """What ``make`` returns for the first of ``sizes`` that it does not refuse; for the last it may raise."""
    *most, last = sizes
    for chosen in most:
        try:
            return make(chosen)
        except (UserError, ValueError, AssertionError):  # sizes that do not go together
            continue
    return make(last)


def _small(build: "partial[Any]", sizes: Sizes, dropout: float = 0.0) -> "partial[Any]":
    """``build`` with ``sizes`` in place of its own, and ``dropout`` in place of that of all its parts."""
    known = {"embedding_size": sizes.embedding, "encoder_size": sizes.encoder, "size": sizes.size}
    known |= {"decoder_size": sizes.decoder, "hidden_size": sizes.decoder}
    changed: dict[str, Any] = {name: known.get(name, sizes.other) for name in build.keywords if name.endswith("size")}
    return partial(_with_dropout(build, dropout), **changed)


def _with_dropout(build: "partial[Any]", dropout: float) -> "partial[Any]":
    changed: dict[str, Any] = {name: dropout for name in build.keywords if name.endswith("dropout")}
    parts = {name: inner for name, inner in build.keywords.items() if isinstance(inner, partial)}
    return partial(build, **changed, **{name: _with_dropout(inner, dropout) for name, inner in parts.items()})


def _has_dropout(build: "partial[Any]") -> bool:
    return any(
        _has_dropout(option) if isinstance(option, partial) else name.endswith("dropout")
        for name, option in build.keywords.items()
    )


def randomised(module: nn.Module, seed: int = 0, scale: float = 0.6) -> nn.Module:
    """Every parameter uniform, biases and padding rows too, so that nothing hides behind a zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_((2 * noise - 1) * scale)
    return module


def translator_of(model: nn.Module) -> Translator:
    """``model``, if it is a translator. NothingToTry: a language model."""
    if not isinstance(model, Translator):
        raise NothingToTry("no translator")
    return model


def language_model_of(model: nn.Module) -> NeuralLanguageModel:
    """``model``, which is no translator. UserError: it is of no kind that can be trained by gradients."""
    if not isinstance(model, NeuralLanguageModel):
        raise UserError(
            f"{type(model).__name__} is neither a Translator nor a NeuralLanguageModel: only their promises can be "
            "checked"
        )
    return model


def decoder_of(model: nn.Module) -> Decoder:
    """Its decoder. NothingToTry: a language model."""
    return translator_of(model).decoder
