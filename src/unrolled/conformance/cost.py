"""What a training step costs, compared with another model's."""

import time
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from unrolled.conformance.subject import NothingToTry, Subject
from unrolled.models.attention import BahdanauAttention
from unrolled.models.decoder import CGRUDecoder

BATCH, LENGTH, STEPS, WORDS = 16, 20, 20, 500
ROUNDS = 3
SIZE = 64
"""The size of Bahdanau attention, if compared with an attention without a size."""


class Cost(NamedTuple):
    """The cost of a forward and a backward pass."""

    seconds: float
    mebibytes: float
    """Kept from the forward to the backward pass."""


def baseline(subject: Subject) -> Subject:
    """The same model with Bahdanau attention and the cGRU's decoder. NothingToTry: a language model."""
    if subject.attention is None or "decoder" not in subject.model.keywords:
        raise NothingToTry("no translator with attention")
    attention = partial(BahdanauAttention, size=subject.attention.keywords.get("size", SIZE))
    return Subject(partial(subject.model, decoder=partial(CGRUDecoder)), attention)


def costs(subject: Subject, other: Subject) -> tuple[Cost, Cost]:
    """The costs of both, run in turns, the fastest of `ROUNDS`, on the CPU in float32, at their own sizes."""
    models = [_full(given) for given in (subject, other)]
    seconds: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for taken, model in zip(seconds, models, strict=True):
            begin = time.perf_counter()
            _step(model)
            taken.append(time.perf_counter() - begin)
    one, another = (Cost(min(taken), _kept(model)) for taken, model in zip(seconds, models, strict=True))
    return one, another


def _full(subject: Subject) -> nn.Module:
    build: Any = subject.model
    model: nn.Module = build(source_vocabulary=WORDS, target_vocabulary=WORDS, attention=subject.attention)
    return model


def _forward(model: nn.Module) -> torch.Tensor:
    tokens = torch.arange(4, 4 + BATCH * LENGTH).view(BATCH, LENGTH) % (WORDS - 4) + 4
    targets = tokens[:, :STEPS]
    hidden, _ = model(tokens, torch.full((BATCH,), LENGTH), targets, targets > 0)
    return hidden.square().sum()


def _step(model: nn.Module) -> None:
    model.zero_grad()
    _forward(model).backward()


def _kept(model: nn.Module) -> float:
    """Mebibytes that autograd holds between forward and backward pass, parameters left out."""
    held: dict[int, int] = {}

    def hold(tensor: torch.Tensor) -> torch.Tensor:
        held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(hold, lambda tensor: tensor):
        _loss = _forward(model)
    of_model = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    return sum(size for place, size in held.items() if place not in of_model) / 2**20
