"""Whether a model has learnt more than how often words come."""

import math
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.metrics.unigram_level import leaves_unigram_level, unigram_loss


class UnigramLevel(Callback):
    """Compares the lowest validation loss of a training with the unigram level of the validation text."""

    def __init__(self) -> None:
        self.level = math.nan
        self.lowest = math.inf

    def state_dict(self) -> dict[str, Any]:
        """The lowest loss so far, for a training that is taken up again."""
        return {"lowest": self.lowest}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from it."""
        self.lowest = state_dict["lowest"]

    def on_fit_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Count words."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        self.level = unigram_loss(data.target_counts("train"), data.target_counts("val"))

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Look at the loss; NaN is no lower than anything."""
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
