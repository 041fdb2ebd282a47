"""Speed of training in target words per second."""

import time
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback


class Speed(Callback):
    """Measures target words without padding per second of training; validation and its decoding are not counted."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._mark = 0.0

    def state_dict(self) -> dict[str, Any]:
        """The seconds so far, for a resumed training."""
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the saved seconds."""
        self.seconds = state_dict["seconds"]

    def tokens_per_second(self, module: Any, ranks: int) -> float | None:
        """Target words of all ranks over the seconds of training; None before the first batch."""
        return module.target_tokens * ranks / self.seconds if self.seconds > 0 else None

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Start the clock."""
        self._mark = time.monotonic()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the time since the last batch or validation; it includes making the batch."""
        now = time.monotonic()
        self.seconds += now - self._mark
        self._mark = now

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Do not count the validation."""
        self._mark = time.monotonic()
