"""Whether a training has left the unigram level: its lowest validation loss counts, also after resuming."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from unrolled.training.callbacks.unigram_level import UnigramLevel

COUNTS = {"train": np.array([0, 0, 2, 6]), "val": np.array([0, 0, 2, 2])}


def begun(counts=COUNTS):
    callback = UnigramLevel()
    callback.on_fit_start(SimpleNamespace(datamodule=SimpleNamespace(target_counts=counts.__getitem__)), None)
    return callback


def validate(callback, *losses):
    for loss in losses:
        callback.on_validation_end(SimpleNamespace(callback_metrics={"val/loss": loss}), None)


def test_the_lowest_loss_counts_and_nan_never_is():
    callback = begun()
    validate(callback, 0.3, math.nan, 5.0)
    facts = callback.facts()
    assert facts["val/unigram_loss"] == callback.level > 0
    assert facts["left_unigram_level"] is True


def test_a_model_of_frequencies_has_not_left_it():
    callback = begun()
    validate(callback, callback.level + 0.1, callback.level)
    assert callback.facts()["left_unigram_level"] is False


def test_before_any_validation_nothing_is_said():
    assert begun().facts() == {}


def test_a_resumed_training_remembers_its_lowest_loss():
    first, again = begun(), begun()
    validate(first, 0.3)
    again.load_state_dict(first.state_dict())
    validate(again, 9.0)
    assert again.facts() == first.facts()


def test_the_level_is_that_of_the_validation_text():
    other = begun(COUNTS | {"val": np.array([0, 0, 0, 4])})
    assert other.level < begun().level  # only the frequent word
    assert other.level == pytest.approx(-math.log((6 + 1) / (8 + 4)))
