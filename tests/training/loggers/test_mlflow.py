"""What is asked of MLflow; of a training: tests/commands/test_train_loggers.py."""

import pytest
from lightning.pytorch.loggers.logger import DummyLogger
from lightning.pytorch.utilities import rank_zero_only

from unrolled.errors import UserError
from unrolled.training.loggers.mlflow import mlflow_logger


def test_a_missing_package_is_one_line_that_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("lightning.pytorch.loggers.mlflow._MLFLOW_AVAILABLE", False)
    with pytest.raises(UserError, match=r'^logger=mlflow is not installed: pip install "unrolled\[mlflow\]"$'):
        mlflow_logger(folder=str(tmp_path), experiment="e", name="n", group=None, resume=False)


def test_of_several_processes_only_the_first_has_it(tmp_path, monkeypatch):
    """Two that made the tables of one database at once would end each other."""
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    other = mlflow_logger(folder=str(tmp_path), experiment="e", name="n", group=None, resume=False)
    assert isinstance(other, DummyLogger)
    assert list(tmp_path.iterdir()) == []
