"""An interruption loses nothing, wherever it falls."""

from functools import partial

import lightning
import pytest
import torch
from torch.utils.data import DataLoader

from unrolled.training.callbacks import SaveWhenInterrupted


class Interrupted(lightning.LightningModule):
    """Ctrl-C comes in its ``where``."""

    def __init__(self, where):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.where = where

    def training_step(self, batch, batch_index):
        if self.where == "training" and batch_index == 2:
            raise KeyboardInterrupt
        return (self.weight - batch).square().sum()

    def validation_step(self, batch, batch_index):
        if self.where == "validation":
            raise KeyboardInterrupt

    def test_step(self, batch, batch_index):
        raise KeyboardInterrupt

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.filterwarnings("ignore:.*Detected KeyboardInterrupt.*")
@pytest.mark.parametrize(("where", "steps"), [("training", 2), ("validation", 4), ("test", 4)])
def test_a_checkpoint_is_written_when_training_is_interrupted(where, steps, tmp_path):
    path = tmp_path / "last.ckpt"
    trainer = lightning.Trainer(
        accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False, max_epochs=1,
        enable_model_summary=False, num_sanity_val_steps=0, callbacks=[SaveWhenInterrupted(path=str(path))],
    )  # fmt: skip
    batches = DataLoader(torch.ones(4))
    module = Interrupted(where)
    fit, test = partial(trainer.fit, module, batches, batches), partial(trainer.test, module, batches, verbose=False)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        (test if where == "test" else fit)()
    assert path.exists() == (where != "test")
    if path.exists():
        assert torch.load(path, weights_only=True)["global_step"] == steps
