"""Models whose weights do not change, as during a search: each weight is packed once for all steps, and whatever a step
computes from the previous word alone is computed once per word."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from unrolled.models.fast.int8 import QuantizedProduct, quantize
from unrolled.models.fast.products import Packed, pack, product_dtype
from unrolled.models.fast.remembered import Remembered

ROWS = 64
"""The number of rows that packing is optimised for; any number works."""
_locks: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_adding = threading.Lock()


@contextmanager
def frozen(models: Iterable[nn.Module], *, int8: bool = False) -> Iterator[None]:
    """In this context, the linear layers of ``models`` keep the weights and autocast dtype they have on entry.

    So do the products with previous words, in models that have ``of_words``. ``int8``: products of 8-bit integers,
    if weights are float32 and this machine has them. Layers that are already frozen stay as they are. For use without
    gradients, in evaluation mode. A model is frozen by one thread at a time; others wait.
    """
    modules = list(models)
    changed: list[tuple[nn.Module, str]] = []
    with one_thread(modules):
        try:
            for layer in (layer for model in modules for layer in model.modules()):
                if type(layer) is nn.Linear and "forward" not in vars(layer):
                    packed = _packed(layer, int8)
                    if packed is not None:
                        layer.forward = packed  # type: ignore[assignment,method-assign]
                        changed.append((layer, "forward"))
                words = _words(layer)
                if words is not None:
                    layer.of_words = words  # type: ignore[assignment]
                    changed.append((layer, "of_words"))
            yield
        finally:
            for layer, name in changed:
                delattr(layer, name)


@contextmanager
def one_thread(models: Iterable[nn.Module]) -> Iterator[None]:
    """In this context, no other thread is in it with any of ``models``; the locks are taken in one order by all."""
    with _adding:
        locks = [_locks.setdefault(model, threading.RLock()) for model in sorted(models, key=id)]
    with ExitStack() as held:
        for lock in locks:
            held.enter_context(lock)
        yield


def _words(model: Any) -> Remembered | None:
    """For a model on the CPU that has ``of_words`` and is not frozen yet."""
    if not hasattr(model, "of_words") or "of_words" in vars(model) or model.training:
        return None
    vocabulary = model.target_embedding.weight
    return Remembered(model.of_words, len(vocabulary)) if vocabulary.device.type == "cpu" else None


def _packed(layer: nn.Linear, int8: bool) -> "FrozenLinear | None":
    if layer.out_features == 1:
        return None
    weight, bias = layer.weight.detach(), None if layer.bias is None else layer.bias.detach()
    quantized = quantize(weight, bias, ROWS) if int8 else None
    if quantized is not None:
        return FrozenLinear(quantized, weight.dtype)
    dtype = product_dtype(weight)
    packed = pack(weight.to(dtype), None if bias is None else bias.to(dtype), ROWS)
    return None if packed is None else FrozenLinear(packed, dtype)


@contextmanager
def narrowed(layers: Iterable[nn.Linear], outputs: Tensor, *, int8: bool = False) -> Iterator[None]:
    """In this context, ``layers`` compute only the ``outputs (V,)``, in this order. Also works inside `frozen`."""
    before = {layer: vars(layer).get("forward") for layer in layers}
    try:
        for layer in before:
            narrow = nn.Linear(layer.in_features, len(outputs), bias=layer.bias is not None, device="meta")
            narrow.weight = nn.Parameter(layer.weight.detach().index_select(0, outputs), requires_grad=False)
            if layer.bias is not None:
                narrow.bias = nn.Parameter(layer.bias.detach().index_select(0, outputs), requires_grad=False)
            layer.forward = _packed(narrow, int8) or narrow.forward  # type: ignore[assignment,method-assign]
        yield
    finally:
        for layer, forward in before.items():
            del layer.forward
            if forward is not None:
                layer.forward = forward  # type: ignore[method-assign]


class FrozenLinear:
    """A linear layer ``(..., I)`` -> ``(..., O)``, in ``dtype`` as under autocast."""

    def __init__(self, packed: Packed | QuantizedProduct, dtype: torch.dtype) -> None:
        self._packed = packed
        self._dtype = dtype
        self.rounds = isinstance(packed, QuantizedProduct)
        """Whether it rounds what it reads."""

    def __call__(self, x: Tensor) -> Tensor:
        """x W^T + b."""
        y = self._packed(x.to(self._dtype).flatten(0, -2))
        return y.unflatten(0, x.shape[:-1])
