"""A callback that ends a training in the middle, once: ``+callbacks.kill._target_=support.killing.Kill``."""

import os
import resource
import signal
import sys
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Callback


class Killed(BaseException):
    """What nothing catches and nothing is saved for."""


RAISED = {"Killed": Killed, "Failed": ValueError, "Full": torch.OutOfMemoryError}


class Kill(Callback):
    """At ``step`` in the hook ``where`` of the run ``seed``, once (then there is ``marker``): a signal, or RAISED."""

    def __init__(self, *, marker: str, step: int, where: str, how: str, seed: int, run: int):
        self.marker, self.step, self.how = Path(marker), step, how
        if seed in (run, 0):
            setattr(self, where, self._kill)

    def _kill(self, trainer, *_):
        if trainer.global_step < self.step or self.marker.exists():
            return
        self.marker.touch()
        if self.how in RAISED:
            raise RAISED[self.how]("by a test")
        os.kill(os.getpid(), getattr(signal, self.how))


def kill(folder: Path, step: int, where: str, how: str = "Killed", seed: int = 0) -> list[str]:
    """The options for train.py; seed: of the run that is ended, 0 for any."""
    options = {"_target_": "support.killing.Kill", "marker": folder / "killed", "step": step, "where": where}
    options |= {"how": how, "seed": seed, "run": "${seed}"}
    return [f"+callbacks.kill.{name}={value}" for name, value in options.items()]


class Threads(Callback):
    """Writes into the file ``threads`` how many of them torch has."""

    def on_train_start(self, trainer, module):
        with Path("threads").open("a") as file:
            file.write(f"{torch.get_num_threads()}\n")


class Imported(Callback):
    """Writes into the file ``imported`` the modules that are loaded when the first batch has been trained on."""

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if not Path("imported").exists():
            Path("imported").write_text("\n".join(sorted(sys.modules)))


class Full(Callback):
    """From ``step`` on no file becomes larger than ``limit`` bytes; ``deadly``: who tries is killed, in the middle."""

    def __init__(self, *, step: int, limit: int, deadly: bool):
        self.step, self.limit, self.deadly = step, limit, deadly

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step >= self.step:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if self.deadly else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, resource.RLIM_INFINITY))


class OutOfMemory(Callback):
    """None is left in the first update after each of ``steps``. ``folder``/began: the updates at each beginning."""

    def __init__(self, *, steps, folder: str):
        self.steps, self.began = steps, Path(folder) / "began"

    def on_train_start(self, trainer, module):
        with self.began.open("a") as file:
            file.write(f"{trainer.global_step}\n")

    def on_after_backward(self, trainer, module):
        before = len(self.began.read_text().split()) - 1
        if before < len(self.steps) and trainer.global_step == self.steps[before]:
            raise torch.OutOfMemoryError("by a test")
