"""A callback that ends a training in the middle, once: ``+callbacks.kill._target_=killing.Kill`` for train.py."""

import os
import signal
from pathlib import Path

from lightning.pytorch.callbacks import Callback


class Killed(BaseException):
    """What nothing catches and nothing is saved for."""


class Kill(Callback):
    """At ``step`` in the hook ``where``, if the file ``marker`` is not there yet: a signal, or `Killed`."""

    def __init__(self, *, marker: str, step: int, where: str, how: str):
        self.marker, self.step, self.how = Path(marker), step, how
        setattr(self, where, self._kill)

    def _kill(self, trainer, *_):
        if trainer.global_step < self.step or self.marker.exists():
            return
        self.marker.touch()
        if self.how == "Killed":
            raise Killed
        os.kill(os.getpid(), getattr(signal, self.how))


def kill(folder: Path, step: int, where: str, how: str = "Killed") -> list[str]:
    """The options for train.py."""
    options = {"_target_": "killing.Kill", "marker": folder / "killed", "step": step, "where": where, "how": how}
    return [f"+callbacks.kill.{name}={value}" for name, value in options.items()]
