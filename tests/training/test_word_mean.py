"""An update's gradient is that of the mean over its words, in whatever batches and processes they came."""

import lightning
import pytest
import torch
from support.small_models import TARGET_WORDS, build_lm, words
from torch.utils.data import DataLoader

from unrolled.data.batch import make_batch
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.schedule import constant

LENGTHS = ([1], [9, 8, 8, 7], [3, 3], [2, 5, 5, 5, 5, 4])


def batch(index):
    rows = words(LENGTHS[index], TARGET_WORDS, seed=index)
    return make_batch(None, rows, range(len(rows)))


class Descent(LanguageModeling):
    """Plain gradient descent: a gradient is a difference of weights. The ranks take batches in turns."""

    def __init__(self, batches, file):
        super().__init__(
            model=build_lm("gru", dropout=0.0),
            optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1.0),
            schedule=constant,
            label_smoothing=0.1,
            monitor="val/loss",
            mode="min",
        )
        self.batches, self.file = batches, file
        self.history = [self.weights()]

    def weights(self):
        return [parameter.detach().clone() for parameter in self.parameters()]

    def train_dataloader(self):
        rank, ranks = self.trainer.global_rank, self.trainer.world_size
        return DataLoader([batch(index) for index in self.batches[rank::ranks]], batch_size=None)

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if not torch.equal(self.history[-1][0], self.weights()[0]):
            self.history.append(self.weights())

    def on_train_end(self):
        if self.trainer.is_global_zero:
            torch.save(self.history, self.file)


@pytest.mark.filterwarnings("ignore::lightning.fabric.utilities.warnings.PossibleUserWarning")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    ("ranks", "gathered", "updates"),
    [
        (1, 1, [[0], [1], [2]]),
        (1, 2, [[0, 1], [2]]),
        (1, 3, [[0, 1, 2]]),
        (2, 1, [[0, 1], [2, 3]]),
        (2, 2, [[0, 1, 2, 3]]),
    ],
)
def test_every_word_of_an_update_counts_as_much(ranks, gathered, updates, tmp_path):
    """Also of the last update of an epoch, for which there may be fewer batches; two epochs."""
    file = tmp_path / "history.pt"
    trained = Descent([index for members in updates for index in members], file)
    trainer = lightning.Trainer(
        max_epochs=2,
        accumulate_grad_batches=gathered,
        accelerator="cpu",
        devices=ranks,
        strategy="auto" if ranks == 1 else "ddp_fork",
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(trained)
    history = torch.load(file, weights_only=True)
    assert len(history) == 1 + 2 * len(updates)
    trained = Descent([], file)
    for before, after, members in zip(history, history[1:], updates * 2):
        with torch.no_grad():
            for parameter, weight in zip(trained.parameters(), before):
                parameter.copy_(weight)
        trained.zero_grad()
        losses = [trained.loss(batch(index)) for index in members]
        (sum(loss.objective for loss in losses) / sum(loss.tokens for loss in losses)).backward()
        for parameter, weight, found in zip(trained.parameters(), before, after):
            torch.testing.assert_close(weight - parameter.grad, found, rtol=1e-9, atol=1e-12)
