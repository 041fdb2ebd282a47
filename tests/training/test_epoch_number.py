"""The number of the epoch, while training and after it."""

import pytest
from support.run_contents import PLAIN
from support.scripts import SHORT, results, train


@pytest.mark.parametrize("updates", [3, 2])
def test_a_validation_belongs_to_the_epoch_of_its_last_update(updates, tmp_path, caplog):
    """Also where it comes after training, which ended before its first validation."""
    caplog.set_level("INFO")
    more = ["trainer.limit_train_batches=3", "trainer.max_epochs=2", f"trainer.max_steps={updates}"]
    train(tmp_path, *PLAIN, *SHORT, *more)
    (line,) = [message for message in caplog.messages if "val/loss" in message]
    assert line.startswith(f"epoch 1, step {updates}: ")
    assert results(tmp_path / "run")["epochs"] == 1
