"""What is asked of MLflow; of a training: tests/commands/test_train_loggers.py."""

from lightning.pytorch.loggers.logger import DummyLogger
from lightning.pytorch.utilities import rank_zero_only

from unrolled.training.loggers.mlflow import mlflow_logger


def test_of_several_processes_only_the_first_has_it(tmp_path, monkeypatch):
    """Two that made the tables of one database at once would end each other."""
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    other = mlflow_logger(folder=str(tmp_path), experiment="e", name="n", group=None, resume=False)
    assert isinstance(other, DummyLogger)
    assert list(tmp_path.iterdir()) == []
