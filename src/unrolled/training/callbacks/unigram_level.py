"""Whether a model has learnt more than the frequencies of words."""

import math
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.metrics.unigram_loss import leaves_unigram_level, unigram_loss


class UnigramLevel(Callback):
    """Compares the lowest validation loss of a training with the unigram level of the validation text."""

    def __init__(self) -> None:
        self.level = math.nan
        self.lowest = math.inf

    def state_dict(self) -> dict[str, Any]:
        """The lowest loss so far, for a resumed training."""
        return {"lowest": self.lowest}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the saved loss."""
        self.lowest = state_dict["lowest"]

    def on_fit_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Compute the unigram level from the counts of words."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        self.level = unigram_loss(data.target_counts("train"), data.target_counts("val"))

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Keep the loss if it is lower; NaN never is."""
        loss = float(trainer.callback_metrics.get("val/loss", math.inf))
        self.lowest = loss if loss < self.lowest else self.lowest

    def facts(self) -> dict[str, Any]:
        """For results.json; nothing before the first validation."""
        if math.isinf(self.lowest):
            return {}
        return {
            "val/unigram_loss": self.level,
            "left_unigram_level": leaves_unigram_level(self.lowest, self.level),
        }
