"""Samples and pictures go to the loggers that can show them, and to no other."""

from unittest.mock import Mock, patch

import pytest
from lightning.pytorch.loggers import CSVLogger, MLFlowLogger, TensorBoardLogger, WandbLogger

from unrolled.training.loggers import media

KINDS = {"wandb": WandbLogger, "tensorboard": TensorBoardLogger, "mlflow": MLFlowLogger}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("what", ["samples", "gradient_norms", "page"])
def test_each_logger_is_asked_for_what_it_can_show(name, what, tmp_path):
    logger = Mock(spec=KINDS[name])
    arguments = {
        "samples": ("val", [["a", "b", "c"]], {"val/1": tmp_path}),
        "gradient_norms": ([[1.0, 2.0, 3.0, 4.0]], tmp_path),
        "page": (tmp_path,),
    }[what]
    asked = {each: Mock() for each in KINDS}
    with patch.multiple(media, **asked):
        getattr(media, f"log_{what}")([CSVLogger(tmp_path), logger], *arguments, 7)
    shows = {each for each, room in asked.items() if room.method_calls}
    assert shows == ({name} if (name, what) != ("tensorboard", "page") else set())
