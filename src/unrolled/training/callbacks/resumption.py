"""What a resumed training continues besides its weights: curves, figures, count of words, the best checkpoint."""

import os
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import TensorBoardLogger

from unrolled.runs.resume import moved
from unrolled.training.loggers.csv import Curves
from unrolled.training.loggers.tensorboard import forget_from
from unrolled.training.loggers.wandb_rows import OnceLogger

KEPT = ("target_tokens", "curves", "figures")


class Resumption(Callback):
    """Resumes a training where any checkpoint was written, for what is counted: it has no `SaveProgress`."""

    def __init__(self) -> None:
        self._restored: dict[str, Any] = {}

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Add the present state to each checkpoint."""
        checkpoint.update(state(trainer, module))

    def on_load_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the state until training starts, and look for the best checkpoint where the run folder is now."""
        best: Any = trainer.checkpoint_callback
        bring_home(checkpoint, Path(best.dirpath))
        self._restored = {name: checkpoint.get(name) for name in KEPT}

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Apply what was restored."""
        if self._restored:
            take_up(self._restored, trainer, module)
            self._restored = {}


def state(trainer: lightning.Trainer, module: Any) -> dict[str, Any]:
    """KEPT for a checkpoint: every rank's words, the length of the curves, the figures of the last validation."""
    curves = [logger.experiment.mark() for logger in trainer.loggers if isinstance(logger, Curves)]
    for logger in trainer.loggers:
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.flush()
    return {
        "target_tokens": module.gather(module.target_tokens),
        "curves": curves[0] if trainer.is_global_zero and curves else None,
        # a schedule may look at them at the end of the epoch
        "figures": {name: float(value) for name, value in trainer.callback_metrics.items()},
    }


def bring_home(checkpoint: dict[str, Any], folder: Path) -> None:
    """Have the callbacks' states say that the checkpoints are in ``folder``, where the run may have been moved to."""
    here = os.path.realpath(folder)  # as ModelCheckpoint has it, which forgets the best of another folder
    for key, of_callback in checkpoint["callbacks"].items():
        if "dirpath" in of_callback:
            checkpoint["callbacks"][key] = moved(of_callback, of_callback["dirpath"], here)


def take_up(restored: dict[str, Any], trainer: lightning.Trainer, module: Any) -> None:
    """Continue from KEPT, as `state` gave it; None where an older checkpoint has none."""
    if restored["curves"] is not None and trainer.is_global_zero:
        (curves,) = [logger for logger in trainer.loggers if isinstance(logger, Curves)]
        rows = curves.experiment.resume(restored["curves"])
        for logger in trainer.loggers:
            if isinstance(logger, OnceLogger):
                logger.complete(rows)
            elif isinstance(logger, TensorBoardLogger):
                forget_from(trainer.global_step, logger)
    for name, value in (restored["figures"] or {}).items():
        trainer._logger_connector._callback_metrics[name] = torch.tensor(value)
    if (words := restored["target_tokens"]) is not None:
        as_before = len(words) == trainer.world_size
        module.target_tokens = words[trainer.global_rank] if as_before else sum(words) // trainer.world_size
