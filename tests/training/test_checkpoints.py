"""A checkpoint on the disk is always a whole one."""

import pytest
import torch

from unrolled.training import checkpoints
from unrolled.training.checkpoints import WholeCheckpoints


def test_a_checkpoint_holds_what_was_given(tmp_path):
    state = {"epoch": 3, "weights": torch.arange(5)}
    WholeCheckpoints().save_checkpoint(state, tmp_path / "last.ckpt")
    loaded = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert loaded["epoch"] == 3
    assert torch.equal(loaded["weights"], state["weights"])


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    path = tmp_path / "last.ckpt"
    WholeCheckpoints().save_checkpoint({"step": 1}, path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        WholeCheckpoints().save_checkpoint({"step": 2}, path)
    assert torch.load(path, weights_only=True) == {"step": 1}


def test_what_cannot_be_saved_leaves_the_checkpoint_before(tmp_path):
    """Nothing is written before all is serialised."""
    path = tmp_path / "last.ckpt"
    WholeCheckpoints().save_checkpoint({"step": 1}, path)
    with pytest.raises(Exception, match="pickle"):
        WholeCheckpoints().save_checkpoint({"step": (number for number in range(3))}, path)
    assert torch.load(path, weights_only=True) == {"step": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["last.ckpt"]
