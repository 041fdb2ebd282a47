"""A checkpoint says what its validation found."""

from types import SimpleNamespace

import pytest
import torch

from unrolled.training.callbacks.validation_in_checkpoint import ValidationInCheckpoint


@pytest.mark.parametrize(
    ("model", "translations"),
    [
        (SimpleNamespace(hypotheses={"val": ("ein Hund", "")}), ["ein Hund", ""]),
        (SimpleNamespace(hypotheses={}), []),  # before the first validation
        (SimpleNamespace(), []),  # a language model
    ],
)
def test_figures_and_translations_are_plain_values(model, translations, tmp_path):
    found = {"val/bleu": torch.tensor(12.5), "val/loss": torch.tensor(2.0), "train/loss": torch.tensor(1.0)}
    checkpoint = {"epoch": 3}
    ValidationInCheckpoint().on_save_checkpoint(SimpleNamespace(callback_metrics=found), model, checkpoint)
    torch.save(checkpoint, tmp_path / "a.ckpt")
    loaded = torch.load(tmp_path / "a.ckpt", weights_only=True)
    assert loaded == {"epoch": 3, "metrics": {"val/bleu": 12.5, "val/loss": 2.0}, "translations": translations}
    assert type(loaded["metrics"]["val/bleu"]) is float
