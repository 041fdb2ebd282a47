"""How every search runs a generator: without gradients, with weights prepared once for all steps."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import torch
from torch import nn

from unrolled.models.fast.frozen import frozen

P = ParamSpec("P")
R = TypeVar("R")


def inference(search: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function whose first argument is a generator."""

    @functools.wraps(search)
    def run(*args: P.args, **options: P.kwargs) -> R:
        with torch.inference_mode(), frozen(models(args[0])):
            return search(*args, **options)

    return run


def models(generator: Any) -> Iterator[nn.Module]:
    """The networks in ``generator``: itself, or those of its ``members``."""
    if isinstance(generator, nn.Module):
        yield generator  # a mixture too, with the models in it
        return
    for member in getattr(generator, "members", ()):
        yield from models(member)
