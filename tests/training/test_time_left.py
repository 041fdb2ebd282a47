"""How long a training still takes, judged by its updates or by the limit on its time."""

import math
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest
from lightning.pytorch.callbacks import Timer

from unrolled.training.time_left import TimeLeft, duration


def trainer(step, steps, *timers):
    return SimpleNamespace(global_step=step, estimated_stepping_batches=steps, callbacks=list(timers))


def left_after(seconds, before, now):
    judged = TimeLeft()
    with patch("unrolled.training.time_left.time.monotonic", side_effect=[100.0, 100.0 + seconds]):
        judged.start(before)
        return judged.seconds(now)


def test_the_updates_to_come_take_as_long_as_those_since_the_start():
    assert left_after(30.0, trainer(0, 40), trainer(10, 40)) == pytest.approx(90.0)


def test_a_resumed_training_judges_by_its_own_updates():
    assert left_after(30.0, trainer(20, 40), trainer(30, 40)) == pytest.approx(30.0)


def test_nothing_is_known_before_an_update_or_without_an_end():
    assert left_after(30.0, trainer(5, 40), trainer(5, 40)) is None
    assert left_after(30.0, trainer(0, math.inf), trainer(10, math.inf)) is None


def test_a_limit_on_time_may_come_first():
    timer = Mock(spec=Timer, **{"time_remaining.return_value": 12.0})
    assert left_after(30.0, trainer(0, 40), trainer(10, 40, timer)) == 12.0
    assert left_after(30.0, trainer(0, 11), trainer(10, 11, timer)) == pytest.approx(3.0)
    assert left_after(30.0, trainer(0, 40), trainer(10, 40, Timer(timedelta(days=9)))) == pytest.approx(90.0)


def test_durations_are_as_on_a_clock():
    assert [duration(seconds) for seconds in (0, 62.4, 3723, 90_000)] == ["0:00", "1:02", "1:02:03", "25:00:00"]
