"""Checkpoints from which training resumes as if it had not stopped: same weights, same curves, bit by bit on a CPU.

Lightning's hooks run inside a step, and it does not always restore exactly what was saved there. So everything is saved
at the one place between two batches, before a batch is trained on, and the counters that have already advanced are set
back.
"""

import logging
import random
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler

from unrolled.errors import Numbers, check
from unrolled.training.callbacks import resumption
from unrolled.training.preemption import Preempted

log = logging.getLogger(__name__)


KEPT = ("random", "batches", *resumption.KEPT)
AGAIN = 1.0  # a second Ctrl-C counts only after this many seconds (terminal and parent may both send the first)


class SaveProgress(Callback):
    """Writes ``path`` every ``minutes``, every ``steps``, before a validation and when training is interrupted.

    minutes, steps: None for never. Ctrl-C, SIGTERM, SIGHUP (the terminal is closed), or SIGUSR2 if it has a handler,
    finishes the current batch, saves, and ends training; during a validation, and the second time, it ends at once, and
    the last checkpoint stays.
    """

    def __init__(self, *, path: str, minutes: float | None, steps: int | None) -> None:
        check("callbacks.saving.minutes", minutes, Numbers(above=0, also=(None,)))
        check("callbacks.saving.steps", steps, Numbers(least=1, whole=True, also=(None,)))
        self.path = Path(path)
        self.minutes, self.steps = minutes, steps
        self._saved_at = 0.0
        self._saved_step = -1
        self._unsaved = True  # there is no checkpoint yet
        self._between = False
        self._restored: dict[str, Any] = {}
        self._resumed = False  # and no batch trained since
        self._received: tuple[int, float] | None = None
        self.ended_by: int | None = None
        self._handlers: dict[int, Any] = {}

    # Signals

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Apply what was restored, start the clock, and handle signals."""
        self._unsaved = not self._restored
        self._resumed = bool(self._restored)
        if self._restored:
            self._take_up(trainer, module)
            _find_place(trainer, self._restored["batches"])
            self._restored = {}
        self._saved_at, self._saved_step = time.monotonic(), trainer.global_step
        self._received = self.ended_by = None
        try:
            # a shell makes background jobs ignore Ctrl-C, and nohup makes its command ignore SIGHUP
            unheard = dict.fromkeys((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), signal.SIG_IGN)
            unheard[signal.SIGUSR2] = signal.SIG_DFL
            handlers = {sign: signal.getsignal(sign) for sign in unheard}
            self._handlers = {sign: handler for sign, handler in handlers.items() if handler != unheard[sign]}
            for sign in self._handlers:
                signal.signal(sign, lambda number, _: self._receive(number, trainer))
        except ValueError:  # only the main thread can handle signals
            self._handlers = {}

    def _receive(self, number: int, trainer: lightning.Trainer) -> None:
        now = time.monotonic()
        first = self._received is None
        if first:
            self._received = number, now
        if trainer.validating or (not first and self._received is not None and now - self._received[1] > AGAIN):
            self.ended_by = number
            _end(number)
        if first:
            log.info("interrupted: training stops after this batch; interrupt again to stop at once")

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Let schedules take their step in a resumed epoch too, which Lightning would omit."""
        trainer.fit_loop._restarting = False

    def on_train_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Stop handling signals."""
        self._unlisten()

    def on_exception(self, trainer: lightning.Trainer, module: Any, exception: BaseException) -> None:
        """Stop handling signals."""
        self._unlisten()

    def _unlisten(self) -> None:
        for sign, handler in self._handlers.items():
            signal.signal(sign, handler)
        self._handlers = {}

    # When

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Save if it is time, and end if a signal has asked for it."""
        if self._resumed:
            _accumulate_as_before(trainer, module)
            self._resumed = False
        if batch_idx % trainer.accumulate_grad_batches:  # gradients are not saved
            return
        received = self._received_by_any(trainer, module)
        if received or trainer.strategy.reduce_boolean_decision(self._is_time(trainer, batch_idx), all=False):
            self._save(trainer)
        if received:
            _end(received)

    def _received_by_any(self, trainer: lightning.Trainer, module: Any) -> int:
        """The signal that any process of the run has received, in all of them; 0 for none."""
        signal_here = 0 if self._received is None else self._received[0]
        if trainer.world_size == 1:  # a reduction would wait for the GPU
            return signal_here
        return int(trainer.strategy.reduce(torch.tensor(signal_here, device=module.device), reduce_op="max"))

    def _is_time(self, trainer: lightning.Trainer, batch_idx: int) -> bool:
        if trainer.global_step == self._saved_step and not self._unsaved:
            return False
        if self.minutes is not None and time.monotonic() - self._saved_at > 60 * self.minutes:
            return True
        if self.steps is not None and trainer.global_step - self._saved_step >= self.steps:
            return True
        ends = range(batch_idx + 1, batch_idx + 1 + trainer.accumulate_grad_batches)  # of these batches
        if trainer.global_step + 1 == trainer.max_steps or trainer.num_training_batches in ends:
            return True
        every = trainer.val_check_batch
        if trainer.check_val_every_n_epoch is None:  # batches are counted across epochs
            before = trainer.fit_loop.epoch_loop.batch_progress.total.completed - batch_idx
            ends = range(before + ends.start, before + ends.stop)
        return isinstance(every, int) and any(end % every == 0 for end in ends)

    # What

    def _save(self, trainer: lightning.Trainer) -> None:
        self._between = True
        try:
            trainer.save_checkpoint(self.path)
        finally:
            self._between = False
        self._saved_at, self._saved_step = time.monotonic(), trainer.global_step
        self._unsaved = False

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Between two batches: counters as before the batch, every rank's random state, the length of the curves."""
        if not self._between:
            return
        _put_back(trainer, checkpoint["loops"]["fit_loop"])
        checkpoint["batches"] = trainer.num_training_batches
        checkpoint["random"] = module.gather(_random_state())
        checkpoint.update(resumption.state(trainer, module))

    def on_load_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the state until training starts, and look for the best checkpoint where the run folder is now."""
        resumption.bring_home(checkpoint, self.path.parent)
        self._restored = {name: checkpoint.get(name) for name in KEPT}

    def _take_up(self, trainer: lightning.Trainer, module: Any) -> None:
        resumption.take_up(self._restored, trainer, module)
        rank, random_states = trainer.global_rank, self._restored["random"]
        if random_states is not None and rank < len(random_states):  # or one process more
            _restore_random_state(random_states[rank])


def ending_signal(callbacks: Iterable[Any]) -> int | None:
    """The signal whose handler ended the training with these ``callbacks``, None if there was none.

    Its exception can come out of a library as another one: where C++ calls Python, it may be lost.
    """
    numbers = [one.ended_by for one in callbacks if isinstance(one, SaveProgress)]
    return next((number for number in numbers if number is not None), None)


def _end(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise (Preempted if number == signal.SIGUSR2 else SystemExit)(128 + number)


def _accumulate_as_before(trainer: lightning.Trainer, module: Any) -> None:
    """Lightning tells no callback that a resumed epoch starts; a scheduler must not be told before training does."""
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, GradientAccumulationScheduler):
            callback.on_train_epoch_start(trainer, module)


def _find_place(trainer: lightning.Trainer, before: Any) -> None:
    """Resume at the same share of the epoch if its batches differ from ``before``: memory had run out."""
    batches = trainer.num_training_batches
    if before in (None, batches):
        return
    progress = trainer.fit_loop.epoch_loop.batch_progress
    share = progress.current.completed / before
    place = int(share * batches) // trainer.accumulate_grad_batches * trainer.accumulate_grad_batches
    if share == 1:
        place = int(batches)
    for name in ("ready", "started", "processed", "completed"):
        setattr(progress.current, name, place)
    loader: Any = trainer.train_dataloader
    loader.load_state_dict(loader.state_dict() | {"given": place})


def _put_back(trainer: lightning.Trainer, loop: dict[str, Any]) -> None:
    """Set the saved counters of the fit loop back to before the batch was fetched."""
    progress = loop["epoch_loop.batch_progress"]
    progress["total"]["ready"] -= 1
    progress["current"]["ready"] -= 1
    progress["is_last_batch"] = False
    for state in loop["state_dict"]["combined_loader"]:
        state["given"] -= 1
    if _seems_validated(trainer):  # Lightning assumes it was saved there, and counts the previous batch again
        loop["epoch_loop.state_dict"]["_batches_that_stepped"] -= 1


def _seems_validated(trainer: lightning.Trainer) -> bool:
    """Whether, by Lightning's count, a validation follows the previous batch; before the first of an epoch it does."""
    loop, fetcher = trainer.fit_loop.epoch_loop, trainer.fit_loop._data_fetcher
    progress = loop.batch_progress
    if fetcher is None:
        return False
    last, progress.is_last_batch = progress.is_last_batch, False
    for count in (progress.current, progress.total):  # total where validations are not counted by the epoch
        count.ready -= 1
    try:
        return bool(loop._should_check_val_fx(fetcher))
    finally:
        progress.is_last_batch = last
        for count in (progress.current, progress.total):
            count.ready += 1


def _random_state() -> dict[str, Any]:
    """The random state of torch on all devices, NumPy and Python, as tensors and plain numbers."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    version, words, gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [str(kind), np.asarray(keys).tolist(), *rest],
        "python": [version, list(words), gauss],
    }


def _restore_random_state(state: dict[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    if state["cuda"] and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(state["cuda"])
    kind, keys, *rest = state["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), *rest))  # noqa: NPY002
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
