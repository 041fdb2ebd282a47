"""The moment from which a run folder belongs to this training, and no longer to an earlier one."""

from collections.abc import Callable
from typing import Any

import lightning


class Beginning(lightning.Callback):
    """Calls ``begin`` once, in the first process, with the first batch.

    By then every option has been accepted, the largest batches fit, and callbacks are ready, so a mistake leaves the
    folder as it was.
    """

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self.passed = False

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Begin, before other callbacks write to the folder."""
        self.pass_by(trainer)

    def pass_by(self, trainer: lightning.Trainer) -> None:
        """Begin, unless that has been done."""
        if not self.passed and trainer.is_global_zero:
            try:
                self._begin()
            except (KeyboardInterrupt, SystemExit):
                self._begin()  # to its end, so that there is a run to be resumed
                self.passed = True
                raise
        self.passed = True
