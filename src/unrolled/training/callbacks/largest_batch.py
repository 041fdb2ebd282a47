"""Tries the largest batches before training begins, so that a lack of memory shows in the first minute."""

import logging
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback

from unrolled.training.process_memory import is_out_of_memory

log = logging.getLogger(__name__)

MOMENTS = 2  # tensors that Adam and the like keep for every weight, from the first update on


class LargestBatchFirst(Callback):
    """Computes loss and gradients of the largest batches before the first update, and leaves no trace.

    If memory runs out, here or later, it says in which batch.
    """

    def __init__(self) -> None:
        self._batch: Any = None

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Try them."""
        loader: Any = trainer.train_dataloader
        moments = 0 if trainer.optimizers[0].state else MOMENTS
        held = [torch.empty_like(weight) for weight in module.parameters() for _ in range(moments)]
        for batch in loader.largest():
            self._batch = batch
            module.rehearse(trainer.strategy.batch_to_device(batch, module.device))
        self._batch = None
        del held

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Remember it."""
        self._batch = batch

    def on_validation_batch_start(
        self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Remember it."""
        self._batch = batch

    def on_exception(self, trainer: lightning.Trainer, module: Any, exception: BaseException) -> None:
        """Say what was too large."""
        if is_out_of_memory(exception) and self._batch is not None:
            log.warning("out of memory in a batch of %s", sizes(self._batch))


def sizes(batch: Any) -> str:
    """80 sentences of up to 12 source and 15 target words."""
    rows, target = batch.target_in.shape
    source = "" if getattr(batch, "source", None) is None else f"{batch.source.shape[1]} source and "
    return f"{rows} sentences of up to {source}{target} target words"
