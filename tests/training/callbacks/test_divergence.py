"""A run has diverged when a loss or a weight is no number any more, or when it is far worse than guessing."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from unrolled.errors import UserError
from unrolled.training.callbacks.divergence import BEHIND, Diverged, StopWhenDiverged

WORDS = 100


def trainer(**figures):
    return SimpleNamespace(
        global_step=7,
        world_size=1,
        sanity_checking=False,
        callback_metrics={name: torch.tensor(value) for name, value in figures.items()},
        datamodule=SimpleNamespace(target_tokenizer=SimpleNamespace(size=WORDS)),
    )


def after_batch(callback, loss):
    callback.on_train_batch_end(trainer(), None, {"loss": loss}, None, 3)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_the_loss_of_every_batch_is_looked_at(loss):
    callback = StopWhenDiverged(limit=10)
    for _ in range(3):
        after_batch(callback, torch.tensor(1e30))
    with pytest.raises(Diverged, match="step 7"):
        after_batch(callback, torch.tensor(loss))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_loss_on_a_gpu_is_looked_at_some_batches_later_and_at_the_end():
    callback = StopWhenDiverged(limit=10)
    after_batch(callback, torch.tensor(math.nan, device="cuda"))
    for _ in range(BEHIND - 1):
        after_batch(callback, torch.tensor(1.0, device="cuda"))
    with pytest.raises(Diverged):
        after_batch(callback, torch.tensor(1.0, device="cuda"))
    after_batch(callback, torch.tensor(math.nan, device="cuda"))
    with pytest.raises(Diverged):
        callback.on_train_end(trainer(), nn.Linear(2, 3))


def test_a_validation_far_above_a_uniform_guess_has_exploded():
    callback, uniform = StopWhenDiverged(limit=10), math.log(WORDS)
    callback.on_validation_end(trainer(), None)  # an objective may have no such figure
    callback.on_validation_end(trainer(**{"val/loss": 9.9 * uniform, "val/perplexity": 1e20}), None)
    for loss, perplexity in ((10.1 * uniform, 1e20), (3.0, math.inf), (math.nan, math.nan)):
        with pytest.raises(Diverged, match=r"uniform guess costs 4\.605"):
            callback.on_validation_end(trainer(**{"val/loss": loss, "val/perplexity": perplexity}), None)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_are_looked_at_before_they_are_validated_saved_and_left(value):
    callback, model = StopWhenDiverged(limit=10), nn.Linear(2, 3)
    checkpoint = {"state_dict": model.state_dict() | {"count": torch.tensor(3)}}
    looks = [
        lambda: callback.on_validation_start(trainer(), model),
        lambda: callback.on_save_checkpoint(trainer(), model, checkpoint),
        lambda: callback.on_train_end(trainer(), model),
    ]
    for look in looks:
        look()
    with torch.no_grad():
        model.bias[1] = value
    for look in looks:
        with pytest.raises(Diverged, match="weight"):
            look()


def test_a_limit_below_a_guess_is_refused():
    with pytest.raises(UserError, match=r"callbacks\.diverged\.limit=0\.5"):
        StopWhenDiverged(limit=0.5)
