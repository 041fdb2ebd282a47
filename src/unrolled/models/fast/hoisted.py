"""Products with the context, where each sentence has several hypotheses.

W c + b = sum_j alpha_j (W h_j + b), as the weights sum to one: W h_j + b is computed once for a sentence, and not
W c + b for each hypothesis in every step.

B sentences, K hypotheses of each, N rows, S source length, C annotation size, P outputs of all such layers together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.models.fast.frozen import FrozenLinear

POSITIONS = 16
"""More positions than this for each hypothesis but one take longer to sum than the products that they save."""

Product = Callable[[Tensor], Tensor]


@contextmanager
def hoisted(models: Iterable[nn.Module], hypotheses: int) -> Iterator[None]:
    """In this context, the attentions of ``models`` sum products of annotations, for searches with K ``hypotheses``.

    Affects only models with ``context_layers`` whose attention ``sums_annotations``. For use inside `frozen`.
    """
    changed: list[tuple[nn.Module, str, Any]] = []
    try:
        for model in (module for whole in models for module in whole.modules()):
            attention: Any = getattr(model, "attention", None)
            layers = _context_layers(model)
            width = sum(layer.out_features for layer in layers)
            if hypotheses == 1 or width in (0, *(layer.in_features for layer in layers)):  # as wide as a context
                continue
            if not _said_with(attention, "step", "sums_annotations"):
                continue
            products = [layer.forward for layer in layers]
            _change(changed, attention, "prepare", _preparing(attention.prepare, products, hypotheses))
            first = 0
            for layer, product in zip(layers, products, strict=True):
                _change(changed, layer, "forward", _taking(product, layer, first))
                first += layer.out_features
        yield
    finally:
        for module, name, before in reversed(changed):
            delattr(module, name)
            if before is not None:
                setattr(module, name, before)


def _context_layers(model: Any) -> tuple[nn.Linear, ...]:
    """Those of decoder and readout; () if either has none, as it then reads the context in another way."""
    decoder: Any = getattr(model, "decoder", None)
    readout: Any = getattr(model, "readout", None)
    if not (_said_with(decoder, "advance", "context_layers") and _said_with(readout, "join", "context_layers")):
        return ()
    of_decoder, of_readout = decoder.context_layers(), readout.context_layers()
    return (*of_decoder, *of_readout) if of_decoder and of_readout else ()


def _said_with(module: Any, method: str, name: str) -> Any:
    """``name`` if the class that defines ``method`` has it, else None: a subclass with its own must restate it."""
    defining = next((kind for kind in type(module).__mro__ if method in vars(kind)), object)
    return vars(defining).get(name)


def _preparing(prepare: Callable[..., tuple[Any, ...]], products: Sequence[Product], hypotheses: int) -> Any:
    rounded = any(isinstance(product, FrozenLinear) and product.rounds for product in products)

    def prepare_products(annotations: Tensor, valid: Tensor) -> tuple[Any, ...]:
        """``(B, S, C)``, ``(B, S)`` -> prepared, with products ``(B, S, P)`` in place of the annotations."""
        prepared = prepare(annotations, valid)
        long = valid.shape[1] > POSITIONS * (hypotheses - 1)
        if hypotheses == 1 or (long and not rounded):  # a sentence is rounded alike whatever else is in its batch
            return prepared
        of_tokens = torch.cat([product(annotations[valid]) for product in products], dim=-1)  # padding has none
        summed = of_tokens.new_zeros(*valid.shape, of_tokens.shape[-1])
        summed[valid] = of_tokens
        return (*prepared[:-2], summed, prepared[-1])

    return prepare_products


def _taking(product: Product, layer: nn.Linear, first: int) -> Product:
    def take(c: Tensor) -> Tensor:
        """The context ``(N, C)`` or the sums of products ``(N, P)`` -> W c + b."""
        whole = c.shape[-1] == layer.in_features
        return product(c) if whole else c[..., first : first + layer.out_features]

    return take


def _change(changed: list[tuple[nn.Module, str, Any]], module: nn.Module, name: str, value: Any) -> None:
    changed.append((module, name, vars(module).get(name)))
    setattr(module, name, value)
