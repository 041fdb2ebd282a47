"""Words a second of training: validation is not counted, and a resumed training counts on."""

import math
from types import SimpleNamespace

import pytest

from unrolled.training.callbacks import speed as module
from unrolled.training.callbacks.speed import Speed
from unrolled.training.loggers.csv import Curves


def test_validation_is_not_counted(monkeypatch):
    now = SimpleNamespace(seconds=5.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    monkeypatch.setattr(module.time, "process_time", lambda: now.seconds / 2)
    speed, model = Speed(), SimpleNamespace(target_tokens=600)
    assert speed.tokens_per_second(model, 2) is None
    trainer = SimpleNamespace(global_step=0, log_every_n_steps=20)
    speed.on_train_start(trainer, model)
    for seconds, hook in ((3, "batch"), (100, "validation"), (50, "pictures"), (1, "batch")):
        now.seconds += seconds
        if hook == "pictures":
            speed.on_train_batch_start(trainer, model, None, 0)
        elif hook == "batch":
            speed.on_train_batch_end(trainer, model, None, None, 0)
        else:
            speed.on_validation_end(None, model)
    assert speed.tokens_per_second(model, 2) == pytest.approx(2 * 600 / 4)
    assert (speed.seconds, speed.cpu_seconds) == (4, 2)


def test_a_resumed_training_counts_on():
    first, again = Speed(), Speed()
    first.seconds, first.cpu_seconds = 30.0, 20.0
    again.load_state_dict(first.state_dict())
    assert again.tokens_per_second(SimpleNamespace(target_tokens=60), 1) == 2
    assert again.cpu_seconds == 20
    again.load_state_dict({"seconds": 30.0})  # of a checkpoint that had no more
    assert math.isnan(again.cpu_seconds)


def test_the_curve_has_the_speed_since_its_last_point(monkeypatch, tmp_path):
    now, logged = SimpleNamespace(seconds=5.0), []
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    logger = SimpleNamespace(log_metrics=lambda figures, step: logged.append((figures, step)))
    loggers = [Curves(str(tmp_path)), logger]
    trainer = SimpleNamespace(global_step=40, log_every_n_steps=2, is_global_zero=True, world_size=2, loggers=loggers)
    speed, model = Speed(), SimpleNamespace(target_tokens=100)
    speed.on_train_start(trainer, model)
    for _ in range(4):
        now.seconds += 1
        model.target_tokens += 30 + len(logged)
        trainer.global_step += 1
        speed.on_train_batch_end(trainer, model, None, None, 0)
    name = "train/target_tokens_per_second"
    assert logged == [({name: 60.0}, 41), ({name: 62.0}, 43)]
    assert loggers[0].experiment.metrics == []
