"""How every search runs a generator: without gradients, with weights prepared once for all steps."""

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import torch
from torch import nn

from unrolled.errors import check_choice
from unrolled.models.fast.frozen import frozen
from unrolled.models.fast.int8 import levels

log = logging.getLogger(__name__)

WEIGHTS = ("float", "int8")

P = ParamSpec("P")
R = TypeVar("R")


def inference(search: Callable[P, R], weights: str = "float") -> Callable[P, R]:
    """Decorate a function whose first argument is a generator; nested calls keep the weights of the outermost one.

    ``weights``: one of `WEIGHTS`, see `check_weights`.
    """

    @functools.wraps(search)
    def run(*args: P.args, **options: P.kwargs) -> R:
        with torch.inference_mode(), frozen(models(args[0]), int8=weights == "int8"):
            return search(*args, **options)

    return run


def models(generator: Any) -> Iterator[nn.Module]:
    """The networks in ``generator``: itself, or those of its ``members``."""
    if isinstance(generator, nn.Module):
        yield generator  # a mixture too, with the models in it
        return
    for member in getattr(generator, "members", ()):
        yield from models(member)


def check_weights(weights: str) -> None:
    """UserError unless ``weights`` is in `WEIGHTS`; a warning if this machine does not support them."""
    check_choice("search.weights", weights, WEIGHTS)
    if weights == "int8" and levels() is None:
        log.warning(
            "search.weights=int8: this machine cannot multiply 8-bit integers, or gets them wrong: weights "
            "stay floating-point"
        )
