"""Progress on a terminal: one line that is redrawn, and above it a table with a row for each validation."""

import logging
import math
import os
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

import lightning
from lightning.pytorch.callbacks import ProgressBar

from unrolled.training.epoch_number import epoch_number
from unrolled.training.time_left import TimeLeft, duration

COLUMNS = (  # heading, figure, width, digits, factor
    ("loss", "val/loss", 7, 3, 1),
    ("perplexity", "val/perplexity", 10, 2, 1),
    ("WER, %", "val/word_error_rate", 6, 2, 1),
    ("BLEU", "val/bleu", 6, 2, 1),
    ("chrF", "val/chrf", 6, 2, 1),
    ("AER, %", "val/aer", 6, 1, 100),
)
LONGEST, SHORTEST = 40, 5  # characters of the bar itself
REDRAWN = 0.1  # seconds between two drawings
ERASE = "\r\x1b[K"


class LineAndTable(ProgressBar):
    """The line never wraps: whatever does not fit is omitted."""

    asks_for_every_loss = False  # Lightning's bars do

    def __init__(self, terminal: TextIO | None = None) -> None:
        super().__init__()
        self._terminal = terminal or sys.stderr
        self._enabled = True
        self._left = TimeLeft()
        self._begun = self._drawn = 0.0
        # when, and after how many target words, the speed was measured last; None: not since a validation
        self._mark: tuple[float, int] | None = None
        self._speed = ""
        self._headed = self._on_line = False
        unicode = "utf" in (getattr(self._terminal, "encoding", None) or "").lower()
        self._full, self._empty = ("━", "─") if unicode else ("#", ".")

    def disable(self) -> None:
        """Be silent, as in all processes but the first."""
        self._enabled = False

    def enable(self) -> None:
        """Speak again."""
        self._enabled = True

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Write a line above it."""
        self._erase()
        self._terminal.write(" ".join(map(str, args)) + "\n")

    # the line

    def _draw(self, *parts: str, share: float, now: bool = False) -> None:
        """``parts`` with a bar after the first, where ``share`` is done."""
        moment = time.monotonic()
        if not self._enabled or (moment - self._drawn < REDRAWN and not now):
            return
        self._drawn = moment
        line = one_line(parts, share, width=self._width(), full=self._full, empty=self._empty)
        self._terminal.write(ERASE + line)
        self._terminal.flush()
        self._on_line = True

    def _erase(self) -> None:
        if self._on_line:
            self._terminal.write(ERASE)
            self._terminal.flush()
            self._on_line = False

    def _width(self) -> int:
        """Characters that fit without touching the last column, where some terminals wrap."""
        given = os.environ.get("COLUMNS", "")
        try:
            columns = int(given) if given.isdigit() else os.get_terminal_size(self._terminal.fileno()).columns
        except (OSError, ValueError):
            columns = 0
        return (columns or 80) - 1

    def _before_a_log_line(self, record: logging.LogRecord) -> bool:
        self._erase()
        return True

    def setup(self, trainer: lightning.Trainer, pl_module: Any, stage: str) -> None:
        """From now on log lines take the place of the line, which is drawn again below them."""
        super().setup(trainer, pl_module, stage)
        for handler in _handlers():
            handler.addFilter(self._before_a_log_line)

    def teardown(self, trainer: lightning.Trainer, pl_module: Any, stage: str) -> None:
        """Leave nothing of the line."""
        self._erase()
        for handler in _handlers():
            handler.removeFilter(self._before_a_log_line)

    def on_exception(self, trainer: lightning.Trainer, pl_module: Any, exception: BaseException) -> None:
        """The same."""
        self.teardown(trainer, pl_module, "")

    # training

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Start the clock."""
        self._left.start(trainer)
        self._begun = time.monotonic()

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Measure the speed from here after a validation and the pictures drawn after it."""
        if self._mark is None:
            self._mark = (time.monotonic(), module.target_tokens)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Redraw the line if it is time."""
        now = time.monotonic()
        since, words = self._mark or (now, 0)
        if now - since >= 1:
            self._speed = f"{(module.target_tokens - words) * trainer.world_size / (now - since):6,.0f} tokens/s"
            self._mark = (now, module.target_tokens)
        if now - self._drawn < REDRAWN:
            return  # reading the loss waits for the device
        batches, done = trainer.num_training_batches, batch_idx + 1
        left = self._left.seconds(trainer)
        loss = module.training_loss
        self._draw(
            epoch(trainer),
            f"{done:{len(str(batches))}}/{batches}" if math.isfinite(batches) else f"{done}",
            "" if loss is None else f"loss {float(loss):.3f}",
            self._speed,
            "" if left is None else f"{duration(left)} left",
            share=done / batches,
        )

    # validation and test

    def on_validation_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Redraw the line if it is time."""
        self._evaluation(f"{epoch(trainer)}, validation", batch_idx, self.total_val_batches_current_dataloader)

    def on_test_batch_end(
        self, trainer: lightning.Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Redraw the line if it is time."""
        self._evaluation("test", batch_idx, self.total_test_batches_current_dataloader)

    def _evaluation(self, what: str, batch: int, batches: float) -> None:
        self._draw(what, f"{batch + 1}/{batches}", share=(batch + 1) / batches)

    def on_validation_batch_start(
        self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Note which data set's batches are counted."""
        self.has_dataloader_changed(dataloader_idx)

    def on_test_batch_start(
        self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """The same."""
        self.has_dataloader_changed(dataloader_idx)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Add a row to the table."""
        if trainer.sanity_checking or not self._enabled:
            return
        self._erase()
        figures = {name: float(value) for name, value in trainer.callback_metrics.items()}
        if not self._headed:
            self._terminal.write(heading(figures) + "\n")
            self._headed = True
        self._terminal.write(row(trainer, figures, time.monotonic() - self._begun) + "\n")
        self._terminal.flush()
        self._mark = None


def one_line(fields: tuple[str, ...], share: float, *, width: int, full: str = "━", empty: str = "─") -> str:
    """The first field, a bar with ``share`` of it done, and as many other fields as ``width`` has room for.

    It keeps the first field, then the last (the time left), then the others in order.
    """
    first, *others = [field for field in fields if field]
    kept: list[str] = []
    for field in others[-1:] + others[:-1]:
        if len(first) + SHORTEST + 2 + sum(len(chosen) + 2 for chosen in [*kept, field]) <= width:
            kept.append(field)
    kept = [field for field in others if field in kept]
    size = min(LONGEST, width - len(first) - 2 - sum(len(field) + 2 for field in kept))
    if size < SHORTEST:
        return first[:width]
    done = round(min(1.0, share) * size)
    return "  ".join([first, full * done + empty * (size - done), *kept])


def epoch(trainer: lightning.Trainer) -> str:
    """Which epoch this is, and of how many."""
    of = trainer.max_epochs
    return f"epoch {epoch_number(trainer)}" + (f"/{of}" if of is not None and of > 0 else "")


def heading(figures: Mapping[str, float]) -> str:
    """Names of the columns for which there are ``figures``."""
    names = [f"{name:>{width}}" for name, figure, width, _, _ in COLUMNS if figure in figures]
    return "  ".join(["epoch", f"{'step':>7}", f"{'time':>7}", *names])


def row(trainer: lightning.Trainer, figures: Mapping[str, float], seconds: float) -> str:
    """A validation; a star says that it is the best so far."""
    cells = [
        f"{factor * figures[figure]:{width}.{digits}f}"
        for _, figure, width, digits, factor in COLUMNS
        if figure in figures
    ]
    start = [f"{epoch_number(trainer):5}", f"{trainer.global_step:7}", f"{duration(seconds):>7}"]
    return "  ".join([*start, *cells]) + (" *" if _is_best(trainer, figures) else "")


def _is_best(trainer: lightning.Trainer, figures: Mapping[str, float]) -> bool:
    """Whether this validation is better than the best checkpoint, which is saved after this callback."""
    checkpoint: Any = trainer.checkpoint_callback
    if checkpoint is None or checkpoint.monitor not in figures:
        return False
    value, best = figures[checkpoint.monitor], checkpoint.best_model_score
    return best is None or (value > float(best) if checkpoint.mode == "max" else value < float(best))


def _handlers() -> list[logging.Handler]:
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, logging.StreamHandler)]
