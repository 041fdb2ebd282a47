"""The learning rate among the curves."""

from typing import Any

import lightning
from lightning.pytorch.callbacks import LearningRateMonitor


class LearningRate(LearningRateMonitor):
    """Logs the learning rate once an update, where Lightning's does so for every batch of it."""

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Log it before the first batch of an update."""
        if batch_idx % trainer.accumulate_grad_batches == 0:
            super().on_train_batch_start(trainer, module, batch, batch_idx)
