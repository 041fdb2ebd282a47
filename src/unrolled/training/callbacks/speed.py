"""Speed of training in target words per second."""

import math
import time
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.training.loggers.media import log_speed


class Speed(Callback):
    """Measures target words without padding per second of training; validation and its decoding are not counted.

    cpu_seconds is the processor time of this process, which other programs do not change; NaN after resuming from an
    older version's checkpoint without it.

    Loggers get the speed since their last point, as often as the other curves. metrics.csv does not: it must be the
    same whenever a training is repeated.
    """

    def __init__(self) -> None:
        self.seconds, self.cpu_seconds = 0.0, 0.0
        self._mark: tuple[float, float] | None = None  # None: nothing counts until the next batch
        self._logged = (0, 0.0, 0)  # update, seconds and words of the last point of the curve

    def state_dict(self) -> dict[str, Any]:
        """The seconds so far, for a resumed training."""
        return {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the saved seconds."""
        self.seconds, self.cpu_seconds = state_dict["seconds"], state_dict.get("cpu_seconds", math.nan)

    def tokens_per_second(self, module: Any, ranks: int) -> float | None:
        """Target words of all ranks, as if each had had as many as this one, over the seconds of training.

        None before the first batch.
        """
        return module.target_tokens * ranks / self.seconds if self.seconds > 0 else None

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Start the clock."""
        self._mark = _now()
        self._logged = (trainer.global_step, self.seconds, module.target_tokens)

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Restart the clock after a validation and what other callbacks did after it: pictures, checkpoints."""
        self._mark = _now() if self._mark is None else self._mark

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the time since the last batch or validation; it includes making the batch."""
        now = _now()
        mark = now if self._mark is None else self._mark
        self.seconds += now[0] - mark[0]
        self.cpu_seconds += now[1] - mark[1]
        self._mark = now
        step, seconds, words = self._logged
        every: int = trainer.log_every_n_steps  # type: ignore[attr-defined]
        if trainer.global_step > step and trainer.global_step % every == 0 and self.seconds > seconds:
            if trainer.is_global_zero:
                speed = (module.target_tokens - words) * trainer.world_size / (self.seconds - seconds)
                log_speed(trainer.loggers, speed, trainer.global_step - 1)
            self._logged = (trainer.global_step, self.seconds, module.target_tokens)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Do not count the validation."""
        self._mark = None


def _now() -> tuple[float, float]:
    """The clock, and the processor time of this process, in seconds."""
    return time.monotonic(), time.process_time()
