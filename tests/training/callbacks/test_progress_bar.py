"""The line that is redrawn, and the table of the validations."""

import io
import logging
import math
import re
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn

from unrolled.training.callbacks import progress_bar as module
from unrolled.training.callbacks.progress_bar import ERASE, LineAndTable, one_line
from unrolled.training.time_left import duration

PARTS = ("epoch 12/60", "412/664", "loss 2.345", "12,345 tokens/s", "1:02:03 left")


def trainer(**changes):
    state = {"is_global_zero": True, "current_epoch": 1, "max_epochs": 6, "num_training_batches": 8, "global_step": 12}
    state |= {"world_size": 1, "callbacks": [], "estimated_stepping_batches": 48, "sanity_checking": False}
    state |= {"callback_metrics": {}, "checkpoint_callback": None}
    state["state"] = SimpleNamespace(fn=TrainerFn.FITTING)
    return SimpleNamespace(**state | changes)


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    return now


@pytest.mark.parametrize("width", range(1, 200, 7))
def test_the_line_never_wraps(width):
    assert len(one_line(PARTS, 0.62, width=width)) <= width


def test_at_80_columns_it_has_everything_and_a_narrow_one_keeps_the_time_left():
    wide = one_line(PARTS, 0.5, width=79)
    assert all(part in wide for part in PARTS)
    bar = re.search("[━─]+", wide)[0]
    assert bar.count("━") in (len(bar) // 2, -(-len(bar) // 2))
    narrow = one_line(PARTS, 0.5, width=45)
    assert PARTS[0] in narrow
    assert PARTS[-1] in narrow
    assert PARTS[3] not in narrow


def test_a_batch_is_a_line_and_a_validation_a_row(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    terminal = io.StringIO()
    bar, model = LineAndTable(terminal), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5))
    bar.on_train_start(trainer(), model)
    bar.on_train_batch_start(trainer(), model, None, 3)
    clock.seconds, model.target_tokens = 102.0, 500
    bar.on_train_batch_end(trainer(global_step=16), model, None, None, 3)
    figures = {
        "val/loss": 1.25,
        "val/word_error_rate": 40.0,
        "val/bleu": 31.5,
        "val/aer": 0.25,
        "val/attention_entropy": 3.0,
        "train/loss": 9.0,
    }
    measured = {name: torch.tensor(value) for name, value in figures.items()}
    best = SimpleNamespace(monitor="val/bleu", mode="max", best_model_score=torch.tensor(30.0))
    for score in (30.0, 32.0):
        best.best_model_score = torch.tensor(score)
        bar.on_validation_end(trainer(callback_metrics=measured, checkpoint_callback=best), model)
    line, head, first, second, rest = re.split(r"\r\x1b\[K|\n", terminal.getvalue())[1:]
    assert line.split()[:2] == ["epoch", "2/6"]
    assert line.split()[3:] == ["4/8", "loss", "2.500", "250", "tokens/s", "0:16", "left"]
    assert head.split() == ["epoch", "step", "time", "loss", "WER,", "%", "BLEU", "AER,", "%"]
    assert first.split() == ["2", "12", "0:02", "1.250", "40.00", "31.50", "25.0", "*"]
    assert second.split() == first.split()[:-1]  # 31.5 is no better than 32
    assert len(head) == len(second) < 80
    assert rest == ""


def test_a_log_line_takes_the_place_of_the_bar(clock):
    terminal = io.StringIO()
    root, handler = logging.getLogger(), logging.StreamHandler(terminal)
    root.addHandler(handler)
    try:
        bar = LineAndTable(terminal)
        bar.setup(trainer(), None, "fit")
        bar.on_train_start(trainer(), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5)))
        clock.seconds += 1
        bar.on_train_batch_end(
            trainer(), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5)), None, None, 3
        )
        logging.getLogger("here").warning("look")
        bar.teardown(trainer(), None, "fit")
        logging.getLogger("here").warning("again")
    finally:
        root.removeHandler(handler)
    assert terminal.getvalue().endswith(f"{ERASE}look\nagain\n")


def test_other_processes_are_silent(clock):
    terminal = io.StringIO()
    bar, model = LineAndTable(terminal), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5))
    bar.setup(trainer(is_global_zero=False), None, "fit")
    bar.on_train_start(trainer(), model)
    clock.seconds += 1
    bar.on_train_batch_end(trainer(), model, None, None, 3)
    bar.on_validation_end(trainer(), model)
    assert terminal.getvalue() == ""


def test_without_an_end_there_is_no_time_left(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    terminal = io.StringIO()
    bar = LineAndTable(terminal)
    endless = trainer(max_epochs=-1, estimated_stepping_batches=math.inf)
    bar.on_train_start(endless, SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5)))
    clock.seconds += 1
    bar.on_train_batch_end(endless, SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5)), None, None, 3)
    assert "left" not in terminal.getvalue()
    assert "epoch 2 " in terminal.getvalue()


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3723, "1:02:03")])
def test_durations(seconds, shown):
    assert duration(seconds) == shown
