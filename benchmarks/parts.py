"""Where the time of a training step goes: a watch that is pressed at the boundaries between parts, both ways.

A boundary is an identity in the graph. Going forward it ends the part before it; going backward it is reached when all
of the part after it is done (autograd runs what was made last first), and ends that part.

On a GPU only the whole step is timed: to wait at every boundary would take away what it gains by running ahead of it.
"""

import time
from collections import defaultdict
from typing import Any

import torch
from torch import Tensor, nn

ENCODER, DECODER, READOUT, OPTIMISER = "encoder", "decoder", "readout", "optimiser"
WHOLE = "step"


class Watch:
    """Seconds by part of one training step, or on a GPU of all of it. OPTIMISER is its last part."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = 0.0

    def start(self) -> None:
        self.seconds = defaultdict(float)
        self._last = self._now()

    def press(self, phase: str) -> None:
        """The time since the watch was last pressed is the part's."""
        if self.device == "cuda":
            if phase != OPTIMISER:
                return
            phase = WHOLE
        now = self._now()
        self.seconds[phase] += now - self._last
        self._last = now

    def _now(self) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def boundary(self, before: str, after: str, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The same tensors, to be used by part ``after``."""
        if self.device == "cuda":
            return tensors
        return _Boundary.apply(self, before, after, *tensors)


class _Boundary(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, watch: Watch, before: str, after: str, *tensors: Tensor) -> tuple[Tensor, ...]:
        watch.press(before)
        ctx.watch, ctx.after = watch, after
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        ctx.watch.press(ctx.after)
        return (None, None, None, *gradients)


def watch_encoder(model: nn.Module, watch: Watch) -> None:
    """Let ``model.encode`` end the part of the encoder."""
    encode = model.encode

    def watched(*arguments: Tensor) -> tuple[Tensor, Tensor]:
        annotations, valid = encode(*arguments)
        return *watch.boundary(ENCODER, DECODER, annotations), valid

    model.encode = watched


def watch_decoder(model: nn.Module, watch: Watch) -> None:
    """Let ``model.decoder.unroll`` end the part of the decoder."""
    unroll = model.decoder.unroll

    def watched(*arguments: Any, **options: Any) -> tuple[tuple[Tensor, ...], Tensor]:
        features, weights = unroll(*arguments, **options)
        return watch.boundary(DECODER, READOUT, *features), weights

    model.decoder.unroll = watched
