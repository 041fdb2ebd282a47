"""What happens beside training: progress, speed, guards against divergence."""

import logging
import math
import sys
import time
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback, RichProgressBar

log = logging.getLogger(__name__)


class Diverged(Exception):
    """The loss is no longer a number."""


def progress(*, seconds: float) -> Callback:
    """A progress bar on a terminal, else a plain line on stderr about every ``seconds``."""
    if sys.stderr.isatty():
        return RichProgressBar(leave=True, console_kwargs={"stderr": True})
    return ProgressLine(seconds=seconds)


class ProgressLine(Callback):
    """One plain line every ``seconds`` (epoch, step, loss, speed) and one after every validation."""

    def __init__(self, *, seconds: float) -> None:
        self.seconds = seconds
        self._last_time = 0.0
        self._last_tokens = 0

    def _restart(self, module: Any) -> None:
        self._last_time, self._last_tokens = time.monotonic(), module.target_tokens

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Start the clock."""
        self._restart(module)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write a line if it is time."""
        elapsed = time.monotonic() - self._last_time
        if elapsed < self.seconds or not trainer.is_global_zero:
            return
        log.info(
            "epoch %d, batch %d of %s, step %d: train/loss %.3f, %.0f target tokens/s",
            trainer.current_epoch + 1,
            batch_idx + 1,
            trainer.num_training_batches,
            trainer.global_step,
            float(trainer.callback_metrics.get("train/loss", math.nan)),
            (module.target_tokens - self._last_tokens) * trainer.world_size / elapsed,
        )
        self._restart(module)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Write the validation's figures."""
        if trainer.is_global_zero:
            figures = [
                f"{name} {float(value):.3f}" for name, value in trainer.callback_metrics.items() if name[:4] == "val/"
            ]
            log.info("epoch %d, step %d: %s", trainer.current_epoch + 1, trainer.global_step, ", ".join(figures))
        self._restart(module)


class Speed(Callback):
    """Measures target words without padding per second of training; validation and its decoding are not counted."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._mark = 0.0

    def state_dict(self) -> dict[str, Any]:
        """The seconds so far, for a training that is taken up again."""
        return {"seconds": self.seconds}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on counting."""
        self.seconds = state_dict["seconds"]

    def tokens_per_second(self, module: Any, ranks: int) -> float | None:
        """All ranks' target words over the seconds of training; None before the first batch."""
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
        """Leave the validation out."""
        self._mark = time.monotonic()


class StopWhenDiverged(Callback):
    """Ends training with ``Diverged`` when the loss is NaN or infinite; looks at every ``every``-th batch."""

    def __init__(self, *, every: int) -> None:
        self.every = every

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the loss."""
        if batch_idx % self.every == 0 and not math.isfinite(float(outputs["loss"])):
            raise Diverged(f"the loss became {float(outputs['loss'])} at step {trainer.global_step}")


class ValidationInCheckpoint(Callback):
    """Puts what validation found into each checkpoint, so that the best checkpoint says what it is the best of."""

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """``checkpoint["metrics"]``: val/* as plain numbers; ``checkpoint["translations"]``: lines, of a translator."""
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name[:4] == "val/"}
        checkpoint["metrics"] = metrics
        checkpoint["translations"] = list(module.hypotheses.get("val", [])) if hasattr(module, "hypotheses") else []
