"""How long a training still takes."""

import math
import time

import lightning
from lightning.pytorch.callbacks import Timer


class TimeLeft:
    """Judges from the updates since training started or was resumed; validations count with the time they took."""

    def __init__(self) -> None:
        self._time = 0.0
        self._step = 0

    def start(self, trainer: lightning.Trainer) -> None:
        """Training starts, or continues, now."""
        self._time, self._step = time.monotonic(), trainer.global_step

    def seconds(self, trainer: lightning.Trainer) -> float | None:
        """Seconds until training ends at the latest; early stopping may end it sooner. None: nothing is known yet."""
        done = trainer.global_step - self._step
        timers = [callback for callback in trainer.callbacks if isinstance(callback, Timer)]  # type: ignore[attr-defined]
        limits = [left for timer in timers if (left := timer.time_remaining()) is not None]
        steps = trainer.estimated_stepping_batches
        if done > 0 and math.isfinite(steps):
            limits.append((time.monotonic() - self._time) / done * max(0, steps - trainer.global_step))
        return min(limits, default=None)


def duration(seconds: float) -> str:
    """1:02 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
