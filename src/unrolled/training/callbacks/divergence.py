"""Ends a training that has diverged: a loss or weight is NaN or infinite, or the loss has exploded."""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from unrolled.errors import UserError

BEHIND = 10  # batches after which a loss has certainly arrived from the GPU, so that nothing waits for it


class Diverged(Exception):
    """Training has produced NaN or infinity, or a model far worse than an untrained one."""


class StopWhenDiverged(Callback):
    """Ends training with ``Diverged``.

    It checks the loss of every batch; the weights before they are validated or saved, and at the end; and the loss of
    every validation, which has exploded if it exceeds ``limit`` times log |V|, the loss of a uniform guess.
    """

    def __init__(self, *, limit: float) -> None:
        if not limit > 1:
            raise UserError(
                f"callbacks.diverged.limit={limit}: give a number above 1, times the loss of a uniform guess"
            )
        self.limit = limit
        self._losses: deque[tuple[int, Callable[[], float]]] = deque()

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Forget the losses of an earlier training."""
        self._losses.clear()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Check the loss; on a GPU, the loss `BEHIND` batches ago."""
        loss = outputs["loss"]
        if trainer.world_size > 1:  # all processes have to end at the same batch
            loss = trainer.strategy.reduce(loss.detach().clone(), reduce_op="sum")
        self._losses.append((trainer.global_step, _fetched(loss)))
        while len(self._losses) > (BEHIND if loss.is_cuda else 0):
            self._look()

    def _look(self) -> None:
        step, fetch = self._losses.popleft()
        if not math.isfinite(loss := fetch()):
            raise Diverged(f"the loss became {loss} at step {step}")

    def on_validation_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Check the weights: search would fail with NaN."""
        self._look_at_weights(trainer, module.parameters())

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Check the validation loss."""
        if trainer.sanity_checking or "val/loss" not in trainer.callback_metrics:
            return
        loss = float(trainer.callback_metrics["val/loss"])
        perplexity = float(trainer.callback_metrics.get("val/perplexity", 1.0))
        uniform = math.log(trainer.datamodule.target_tokenizer.size)  # type: ignore[attr-defined]
        if not (math.isfinite(perplexity) and loss <= self.limit * uniform):
            raise Diverged(
                f"val/loss became {loss:.4g} nats a word at step {trainer.global_step}, where a uniform guess costs "
                f"{uniform:.4g}"
            )

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Check the weights before they replace good ones."""
        self._look_at_weights(trainer, checkpoint["state_dict"].values())

    def on_train_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Check the last losses, and the weights."""
        while self._losses:
            self._look()
        self._look_at_weights(trainer, module.parameters())

    def _look_at_weights(self, trainer: lightning.Trainer, weights: Iterable[Tensor]) -> None:
        sound = [torch.isfinite(weight.detach()).all() for weight in weights if weight.is_floating_point()]
        if sound and not bool(torch.stack(sound).all()):
            raise Diverged(f"a weight has become NaN or infinite by step {trainer.global_step}")


def _fetched(loss: Tensor) -> Callable[[], float]:
    """A function that returns the loss, which is copied from the GPU in the meantime."""
    loss = loss.detach()
    if not loss.is_cuda:
        value = float(loss)
        return lambda: value
    on_cpu = torch.empty((), dtype=loss.dtype, pin_memory=True).copy_(loss, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()

    def fetch() -> float:
        arrived.synchronize()
        return float(on_cpu)

    return fetch
