"""Progress of training: a bar and a table on a terminal, otherwise lines."""

import logging
import math
import sys
import time
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.training.callbacks.progress_bar import LineAndTable
from unrolled.training.epoch_number import epoch_number
from unrolled.training.time_left import TimeLeft, duration

log = logging.getLogger(__name__)


def progress(*, seconds: float) -> Callback:
    """A bar and a table on a terminal, else a plain line on stderr about every ``seconds``."""
    return LineAndTable() if sys.stderr.isatty() else ProgressLine(seconds=seconds)


class ProgressLine(Callback):
    """One plain line every ``seconds`` (epoch, step, loss, speed, time left) and one after every validation."""

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        self._last_time: float | None = None  # None: not since a validation
        self._last_tokens = 0
        self._left = TimeLeft()

    def _restart(self, module: Any) -> None:
        self._last_time, self._last_tokens = time.monotonic(), module.target_tokens

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Start the clock."""
        self._left.start(trainer)
        self._restart(module)

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Restart the clock after a validation and the pictures drawn after it."""
        if self._last_time is None:
            self._restart(module)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write a line if it is time."""
        elapsed = 0.0 if self._last_time is None else time.monotonic() - self._last_time
        if elapsed < self.seconds or not trainer.is_global_zero:
            return
        left = self._left.seconds(trainer)
        log.info(
            "epoch %d, batch %d of %s, step %d: train/loss %.3f, %.0f target tokens/s%s",
            epoch_number(trainer),
            batch_idx + 1,
            trainer.num_training_batches,
            trainer.global_step,
            math.nan if module.training_loss is None else float(module.training_loss),
            (module.target_tokens - self._last_tokens) * trainer.world_size / elapsed,
            "" if left is None else f", {duration(left)} left",
        )
        self._restart(module)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Write the validation's figures."""
        if trainer.is_global_zero:
            figures = [
                f"{name} {float(value):.3f}" for name, value in trainer.callback_metrics.items() if name[:4] == "val/"
            ]
            log.info("epoch %d, step %d: %s", epoch_number(trainer), trainer.global_step, ", ".join(figures))
        self._last_time = None
