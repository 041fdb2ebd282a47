"""Weights & Biases: with `lean_wandb` and `wandb_rows` the only file that knows wandb."""

import logging
import os
from pathlib import Path
from typing import Any, cast

from lightning.pytorch.loggers import Logger, WandbLogger
from lightning.pytorch.utilities import rank_zero_only

from unrolled.errors import UserError
from unrolled.files import is_writable
from unrolled.training.loggers.lean_wandb import import_wandb
from unrolled.training.loggers.naming import run_name
from unrolled.training.loggers.wandb_mode import chosen_mode
from unrolled.training.loggers.wandb_rows import PIECES, OnceLogger

FLUSHED = 1.0  # seconds between W&B's writes to its file; a kill loses what came after the last one


def log_samples(logger: WandbLogger, split: str, rows: list[list[str]], images: dict[str, Path], step: int) -> None:
    """Log a table of ``rows`` (source, translation, reference), and ``images`` by name."""
    import wandb

    table = wandb.Table(columns=["source", "translation", "reference"], data=rows)
    pictures = {name: wandb.Image(str(path)) for name, path in images.items()}
    logger.experiment.log({f"{split}/samples": table, **pictures, "trainer/global_step": step})


def log_gradient_norms(logger: WandbLogger, rows: list[list[float]], picture: Path, step: int) -> None:
    """Log a table of step, n, norm and pairs, and the curves so far."""
    import wandb

    table = wandb.Table(columns=["step", "n", "norm", "pairs"], data=rows)
    shown = {"gradient_norms/table": table, "gradient_norms/curves": wandb.Image(str(picture))}
    logger.experiment.log({**shown, "trainer/global_step": step})


def log_page(logger: WandbLogger, page: Path, step: int) -> None:
    """Log the page of attention."""
    import wandb

    shown = wandb.Html(str(page), inject=False)  # W&B's own style would need a request
    logger.experiment.log({"attention/page": shown, "trainer/global_step": step})


@rank_zero_only
def log_parameters(logger: WandbLogger, parameters: int) -> None:
    """Show the number of parameters among the options of the run, by which W&B sorts, filters and draws."""
    logger.experiment.config.update({"parameters": parameters}, allow_val_change=True)


log = logging.getLogger(__name__)


def wandb_logger(
    *,
    folder: str,
    project: str,
    entity: str | None,
    name: str,
    group: str | None,
    tags: list[str],
    mode: str,
    resume: bool,
) -> WandbLogger:
    """A W&B run in ``folder``/wandb, silent and without a prompt.

    ``mode``: see `chosen_mode`. ``resume``: continue the folder's W&B run, if it has one. The run's name is `run_name`.

    UserError: W&B cannot begin the run, for instance because it refuses the API key.
    """
    if getattr(rank_zero_only, "rank", 0) != 0:
        return WandbLogger(project=project, save_dir=folder)  # never opens a run on other ranks
    mode = chosen_mode(mode)
    if mode == "offline":
        log.info("Weights & Biases is offline; `wandb sync %s/wandb/offline-run-*` uploads the run", folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    wandb = import_wandb()
    keep_in(Path(folder) / "wandb")
    if mode == "offline":  # else W&B would still try to report on itself, and wait for a network that does not exist
        wandb.setup(wandb.Settings(mode="offline"))
    try:
        run = wandb.init(
            project=project,
            entity=entity,
            name=run_name(name, Path(folder), group),
            group=group,
            job_type="train",
            tags=[tag for tag in tags if tag != "none"],
            dir=folder,
            mode=cast(Any, mode),
            id=earlier_run(Path(folder)) if resume else None,
            resume="allow" if resume else None,
            settings=wandb.Settings(silent=True, quiet=True, console="off", x_transaction_log_flush_interval=FLUSHED),
        )
    except wandb.Error as problem:
        said = " ".join(str(problem).split())
        raise UserError(
            f"logger: Weights & Biases says: {said:.300}; give logger.wandb.mode=offline, and upload the run later by "
            "`wandb sync`"
        ) from problem
    run.define_metric("trainer/global_step")
    run.define_metric("*", step_metric="trainer/global_step", step_sync=True)
    return OnceLogger(run, Path(folder), resume=resume)


_KEPT: set[str] = set()  # variables of the environment that `keep_in` has set


def keep_in(folder: Path) -> None:
    """Let W&B keep in ``folder`` what it keeps in the user's home, if that is not writable, as in some containers.

    Otherwise a training would end at its first validation, when W&B copies a table there.
    """
    from wandb import env

    for variable, place in {env.DATA_DIR: env.get_data_dir, env.CACHE_DIR: env.get_cache_dir}.items():
        if variable in _KEPT:  # by an earlier run of this process
            del os.environ[variable]
        if variable not in os.environ and not is_writable(Path(str(place()))):
            os.environ[variable] = str(folder.absolute() / "home")
            _KEPT.add(variable)


def earlier_run(folder: Path) -> str | None:
    """The id of the last W&B run of a run folder, None if it has none.

    It is in the name of the file: W&B adds a number to that of the folder if the run was resumed in the same second.
    """
    pieces = sorted(
        (folder / "wandb").glob(PIECES.format("*")), key=lambda piece: piece.parent.name.partition("run-")[2]
    )
    return pieces[-1].stem.removeprefix("run-") if pieces else None


@rank_zero_only
def finish(loggers: list[Logger], *, failed: bool) -> None:
    """Flush the loggers, and end the W&B run with exit code 0, or 1 if the run ``failed``."""
    for logger in loggers:
        logger.finalize("failed" if failed else "success")
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=1 if failed else 0)
