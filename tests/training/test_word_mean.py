"""An update's gradient is that of the mean over its words, whatever batches they came in."""

import lightning
import pytest
import torch
from models.builders import TARGET_WORDS, build_lm, words
from torch.utils.data import DataLoader

from unrolled.data.batch import make_batch
from unrolled.training.modules import LanguageModeling
from unrolled.training.schedule import constant

LENGTHS = ([1], [9, 8, 8, 7], [3, 3])


def batch(index):
    rows = words(LENGTHS[index], TARGET_WORDS, seed=index)
    return make_batch(None, rows, range(len(rows)))


class Trained(LanguageModeling):
    """Plain gradient descent, which makes of every gradient a difference of weights."""

    def __init__(self):
        super().__init__(
            model=build_lm("gru", dropout=0.0),
            optimizer=lambda parameters: torch.optim.SGD(parameters, lr=1.0),
            schedule=constant,
            label_smoothing=0.1,
            monitor="val/loss",
            mode="min",
        )
        self.updates = [self.weights()]

    def weights(self):
        return [parameter.detach().clone() for parameter in self.parameters()]

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if not torch.equal(self.updates[-1][0], self.weights()[0]):
            self.updates.append(self.weights())


@pytest.mark.filterwarnings("ignore::lightning.fabric.utilities.warnings.PossibleUserWarning")
@pytest.mark.parametrize(("gathered", "updates"), [(1, [[0], [1], [2]]), (2, [[0, 1], [2]]), (3, [[0, 1, 2]])])
def test_batches_gathered_for_an_update_count_by_their_words(gathered, updates):
    """Of three batches, the last of which has an update of its own where two are gathered; two epochs."""
    trained = Trained()
    trainer = lightning.Trainer(
        max_epochs=2, accumulate_grad_batches=gathered, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    batches = DataLoader([batch(0), batch(1), batch(2)], batch_size=None)
    trainer.fit(trained, batches)
    assert len(trained.updates) == 1 + 2 * len(updates)
    for before, after, members in zip(trained.updates, trained.updates[1:], updates * 2):
        with torch.no_grad():
            for parameter, weight in zip(trained.parameters(), before):
                parameter.copy_(weight)
        trained.zero_grad()
        losses = [trained.loss(batch(index)) for index in members]
        (sum(loss.objective for loss in losses) / sum(loss.tokens for loss in losses)).backward()
        for parameter, weight, found in zip(trained.parameters(), before, after):
            torch.testing.assert_close(weight - parameter.grad, found, rtol=1e-9, atol=1e-12)
