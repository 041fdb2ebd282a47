"""MLflow: the curves and pictures of a run, on a server or in its folder."""

import logging
import os
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers import Logger, MLFlowLogger
from lightning.pytorch.loggers.logger import DummyLogger
from lightning.pytorch.utilities import rank_zero_only

from unrolled.errors import UserError
from unrolled.files import reading, write_text
from unrolled.training.loggers.naming import run_name

RUN = "mlflow_run.txt"
"""The file of a run folder with the id of its MLflow run."""


class ContinuedMLflow(MLFlowLogger):
    """An earlier MLflow run, whose parameters MLflow does not allow to be changed."""

    @rank_zero_only
    def log_hyperparams(self, params: Any) -> None:
        """Keep those of the first start."""


def mlflow_logger(*, folder: str, experiment: str, name: str, group: str | None, resume: bool) -> Logger:
    """An MLflow run on the server of MLFLOW_TRACKING_URI, or in ``folder``/mlflow.db if that is not set.

    Where there are several processes, only the first has one: otherwise all would create the tables of the database
    at once.
    ``resume``: continue the folder's MLflow run, if it has one. UserError: that run is not on this server.
    """
    if getattr(rank_zero_only, "rank", 0) != 0:
        return DummyLogger()
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # before the import; no run reports on itself
    here = Path(os.path.abspath(folder))
    place = {
        "tracking_uri": os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{here / 'mlflow.db'}",
        "artifact_location": None if os.environ.get("MLFLOW_TRACKING_URI") else (here / "mlflow").as_uri(),
    }
    earlier = None
    if resume and (here / RUN).is_file():
        with reading(here / RUN):
            earlier = (here / RUN).read_text(encoding="utf-8").strip()
    kind = MLFlowLogger if earlier is None else ContinuedMLflow
    here.mkdir(parents=True, exist_ok=True)
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    tags = {} if group is None else {"group": group}
    called = run_name(name, here, group)
    logger = kind(experiment_name=experiment, run_name=called, tags=tags, run_id=earlier, **place)  # type: ignore[arg-type]
    write_text(here / RUN, f"{_begun(logger, earlier, place['tracking_uri'])}\n")
    return logger


def _begun(logger: MLFlowLogger, earlier: str | None, where: str | None) -> str | None:
    from mlflow.exceptions import MlflowException

    try:
        return logger.run_id
    except MlflowException as problem:
        run = "" if earlier is None else f" (it should have the run {earlier}, which {RUN} names)"
        raise UserError(f"logger=mlflow: {where}{run}: {' '.join(str(problem).split()):.200}") from problem


def log_files(logger: MLFlowLogger, files: dict[str, Path]) -> None:
    """Files as artifacts, in folders by name."""
    for name, path in files.items():
        logger.experiment.log_artifact(logger.run_id, str(path), name.rpartition("/")[0] or None)
