"""The loggers: curves as CSV, and Weights & Biases. This file and `pictures` are all that know wandb."""

import logging
import netrc
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from lightning.pytorch.loggers import CSVLogger, WandbLogger

log = logging.getLogger(__name__)


def csv_logger(folder: str) -> CSVLogger:
    """The curves in ``folder``/metrics.csv, whatever other logger there is."""
    return CSVLogger(folder, name="", version="", flush_logs_every_n_steps=50)


def wandb_logger(
    *,
    folder: str,
    project: str,
    entity: str | None,
    name: str,
    group: str | None,
    tags: list[str],
    mode: str,
    configuration: dict[str, Any],
) -> WandbLogger:
    """A W&B run in ``folder``/wandb, silent and without a prompt.

    ``mode`` auto is online where an API key is configured (WANDB_API_KEY or netrc) and offline elsewhere; the
    environment's WANDB_MODE comes before auto. ``configuration`` is the resolved configuration, shown with the run.
    """
    import wandb

    if mode == "auto":
        mode = os.environ.get("WANDB_MODE") or ("online" if has_wandb_key() else "offline")
    if mode == "offline":
        log.info("Weights & Biases is offline; `wandb sync %s/wandb/offline-run-*` uploads the run", folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return WandbLogger(
        project=project,
        entity=entity,
        name=name,
        group=group,
        tags=list(tags),
        save_dir=folder,
        mode=mode,
        config=configuration,
        settings=wandb.Settings(silent=True, quiet=True, console="off", reinit="finish_previous"),
    )


def has_wandb_key() -> bool:
    """Whether W&B would find an API key without asking for one."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    path = Path(os.environ.get("NETRC", "~/.netrc")).expanduser()
    try:
        return path.is_file() and netrc.netrc(path).authenticators(host) is not None
    except (OSError, netrc.NetrcParseError):
        return False
