"""What metrics.csv does not hold: translations, pictures, pages, speed, in every logger that can show them."""

from collections.abc import Sequence
from pathlib import Path

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from unrolled.training.loggers import mlflow, tensorboard, wandb
from unrolled.training.loggers.csv import Curves

SAMPLES = ["source", "translation", "reference"]


def log_samples(
    loggers: Sequence[Logger], split: str, rows: list[list[str]], images: dict[str, Path], step: int
) -> None:
    """Log ``rows`` (source, translation, reference), and ``images`` by name."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            wandb.log_samples(logger, split, rows, images, step)
        elif isinstance(logger, TensorBoardLogger):
            tensorboard.log_texts(logger, f"{split}/samples", SAMPLES, rows, step)
            tensorboard.log_pictures(logger, images, step)
        elif isinstance(logger, MLFlowLogger):
            mlflow.log_files(logger, images)


def log_gradient_norms(loggers: Sequence[Logger], rows: list[list[float]], picture: Path, step: int) -> None:
    """Log ``rows`` of step, n, norm and pairs, and the curves so far."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            wandb.log_gradient_norms(logger, rows, picture, step)
        elif isinstance(logger, TensorBoardLogger):
            tensorboard.log_pictures(logger, {"gradient_norms/curves": picture}, step)
        elif isinstance(logger, MLFlowLogger):
            mlflow.log_files(logger, {"gradient_norms/curves": picture})


def log_page(loggers: Sequence[Logger], page: Path, step: int) -> None:
    """Log the page of attention, where a logger shows pages."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            wandb.log_page(logger, page, step)
        elif isinstance(logger, MLFlowLogger):
            mlflow.log_files(logger, {"attention/page": page})


def log_speed(loggers: Sequence[Logger], speed: float, step: int) -> None:
    """Log the target words per second at ``step``."""
    for logger in loggers:
        if not isinstance(logger, Curves):
            logger.log_metrics({"train/target_tokens_per_second": speed}, step)


def log_parameters(loggers: Sequence[Logger], parameters: int) -> None:
    """Show how many parameters are trained, where a logger shows such facts of a run together with its options."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            wandb.log_parameters(logger, parameters)
