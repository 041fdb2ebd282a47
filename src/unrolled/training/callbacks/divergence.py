"""Ends a training whose loss is no longer a number."""

import math
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback


class Diverged(Exception):
    """The loss is no longer a number."""


class StopWhenDiverged(Callback):
    """Ends training with ``Diverged`` when the loss is NaN or infinite; looks at every ``every``-th batch."""

    def __init__(self, *, every: int) -> None:
        self.every = every

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the loss."""
        if batch_idx % self.every == 0 and not math.isfinite(float(outputs["loss"])):
            raise Diverged(f"the loss became {float(outputs['loss'])} at step {trainer.global_step}")
