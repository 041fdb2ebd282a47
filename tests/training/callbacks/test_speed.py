"""Words a second of training: validation is not counted, and a resumed training counts on."""

from types import SimpleNamespace

import pytest

from unrolled.training.callbacks import speed as module
from unrolled.training.callbacks.speed import Speed


def test_validation_is_not_counted(monkeypatch):
    now = SimpleNamespace(seconds=5.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: now.seconds)
    speed, model = Speed(), SimpleNamespace(target_tokens=600)
    assert speed.tokens_per_second(model, 2) is None
    speed.on_train_start(None, model)
    for seconds, hook in ((3, "batch"), (100, "validation"), (1, "batch")):
        now.seconds += seconds
        if hook == "batch":
            speed.on_train_batch_end(None, model, None, None, 0)
        else:
            speed.on_validation_end(None, model)
    assert speed.tokens_per_second(model, 2) == pytest.approx(2 * 600 / 4)


def test_a_resumed_training_counts_on():
    first, again = Speed(), Speed()
    first.seconds = 30.0
    again.load_state_dict(first.state_dict())
    assert again.tokens_per_second(SimpleNamespace(target_tokens=60), 1) == 2
