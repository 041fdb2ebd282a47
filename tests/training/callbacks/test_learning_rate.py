"""How often the learning rate is in the curves."""

import lightning
import pytest
import torch
from hydra.utils import get_object
from lightning.pytorch.loggers import Logger

from unrolled.configuration.composition import composed


class Kept(Logger):
    """Keeps what is logged."""

    name = version = "kept"

    def __init__(self):
        super().__init__()
        self.rows = []

    def log_hyperparams(self, *_, **__):
        """Keep nothing."""

    def log_metrics(self, metrics, step=None):
        """Keep the row."""
        self.rows.append((step, metrics))


class Line(lightning.LightningModule):
    """y = w x, with a rate that falls from update to update."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def training_step(self, batch, _):
        return (self.weight * batch).sum()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=1.0)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.5**update)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


@pytest.mark.parametrize(
    ("batches", "every", "updates"),
    [  # seven batches an epoch are three updates, the third of one batch
        (3, 1, [0, 1, 2, 3, 4, 5]),
        (3, 2, [1, 3, 5]),
        (1, 3, [2, 5, 8, 11]),
    ],
)
def test_it_is_there_once_an_update(batches, every, updates, tmp_path):
    callback = get_object(composed("train", []).callbacks.learning_rate._target_)()
    logger = Kept()
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        accumulate_grad_batches=batches,
        log_every_n_steps=every,
        callbacks=[callback],
        logger=logger,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    data = torch.utils.data.DataLoader(torch.arange(7.0), batch_size=1, num_workers=0)
    trainer.fit(Line(), data)
    rows = [(step, row["lr-SGD"]) for step, row in logger.rows if "lr-SGD" in row]
    assert rows == [(update, pytest.approx(0.5**update)) for update in updates]
