"""Lines of progress where there is no terminal, and a bar where there is one."""

import logging
import math
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.trainer.states import TrainerFn

from unrolled.training.callbacks import progress as module
from unrolled.training.callbacks.progress import ProgressLine, progress


@pytest.fixture
def clock(monkeypatch):
    """The time, which a test sets by hand."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    return now


def trainer(**changes):
    state = {"is_global_zero": True, "current_epoch": 1, "num_training_batches": 9, "global_step": 11, "world_size": 2}
    state |= {"callbacks": [], "estimated_stepping_batches": math.inf}
    state["state"] = SimpleNamespace(fn=TrainerFn.FITTING)
    return SimpleNamespace(**state | {"callback_metrics": {}} | changes)


def test_a_line_comes_when_it_is_time_and_has_the_speed_since_the_last(clock, caplog):
    line, model = ProgressLine(seconds=10), SimpleNamespace(target_tokens=1000, training_loss=torch.tensor(2.5))
    with caplog.at_level(logging.INFO):
        line.on_train_start(trainer(), model)
        for seconds, tokens in ((109.9, 1200), (110.0, 1250), (119.0, 1300)):
            clock.seconds, model.target_tokens = seconds, tokens
            line.on_train_batch_end(trainer(), model, None, None, 4)
    (message,) = caplog.messages
    assert re.findall(r"[\d.]+", message) == ["2", "5", "9", "11", "2.500", "50"]  # 250 words of 2 ranks in 10 s


def test_a_line_says_how_long_it_will_take_at_most(clock, caplog):
    line, model = ProgressLine(seconds=10), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5))
    with caplog.at_level(logging.INFO):
        line.on_train_start(trainer(estimated_stepping_batches=1000), model)
        clock.seconds += 30  # 20 updates, and 969 are left
        line.on_train_batch_end(trainer(estimated_stepping_batches=1000, global_step=31), model, None, None, 4)
    assert caplog.messages[0].endswith(", 24:14 left")


def test_only_the_first_rank_speaks(clock, caplog):
    line, model = ProgressLine(seconds=0), SimpleNamespace(target_tokens=3, training_loss=torch.tensor(2.5))
    with caplog.at_level(logging.INFO):
        line.on_train_start(trainer(), model)
        clock.seconds += 1
        line.on_train_batch_end(trainer(is_global_zero=False), model, None, None, 0)
        line.on_validation_end(trainer(is_global_zero=False), model)
    assert caplog.messages == []


def test_a_validation_s_figures_are_said_and_its_time_is_not_counted(clock, caplog):
    line, model = ProgressLine(seconds=10), SimpleNamespace(target_tokens=0, training_loss=torch.tensor(2.5))
    found = {"val/bleu": torch.tensor(31.25), "train/loss": torch.tensor(1.0), "val/loss": torch.tensor(math.nan)}
    with caplog.at_level(logging.INFO):
        line.on_train_start(trainer(), model)
        clock.seconds += 1000
        line.on_validation_end(trainer(callback_metrics=found), model)
        clock.seconds += 100  # as pictures take
        line.on_train_batch_start(trainer(), model, None, 0)
        clock.seconds += 9
        line.on_train_batch_end(trainer(), model, None, None, 0)
    (message,) = caplog.messages
    assert message.endswith("val/bleu 31.250, val/loss nan")


@pytest.mark.parametrize("terminal", [True, False])
def test_there_is_a_bar_on_a_terminal_alone(terminal, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert isinstance(progress(seconds=3), ProgressBar if terminal else ProgressLine)
