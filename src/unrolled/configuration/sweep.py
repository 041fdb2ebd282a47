"""A sweep: which folder each of its jobs has, however it has changed since, and the table at its end."""

import hashlib
import json
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from unrolled.configuration.halving import halvings
from unrolled.configuration.process import is_child
from unrolled.configuration.values import CONFIG, load_runs, read_plain, resolved
from unrolled.errors import UserError
from unrolled.runs.resume import moved
from unrolled.training.cluster import is_first

log = logging.getLogger(__name__)

OF_SWEEPS = (
    "sweep.dir",
    "sweep.wait",
    "hydra.sweep.",
    "hydra.sweeper.",
    "hydra/sweeper",
    "hydra.launcher.",
    "hydra/launcher",
)
"""What the names of options begin with that a single run does not read."""


def in_sweep() -> bool:
    """Whether this job is one of a multirun."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def check_single() -> None:
    """UserError: an option of sweeps was given, which a single run would ignore without a word."""
    given = HydraConfig.get().overrides
    for override in (*given.task, *given.hydra):
        if override.partition("=")[0].lstrip("+").startswith(OF_SWEEPS):
            raise UserError(f"{override}: only a sweep has this: begin the options with -m to train one, or omit it")


def check_wait(config: DictConfig) -> None:
    """UserError: sweep.wait=false with jobs that run here."""
    if not config.sweep.wait and HydraConfig.get().runtime.choices["hydra/launcher"] != "slurm":
        raise UserError("sweep.wait=false: only hydra/launcher=slurm submits jobs; give both, or neither")


def another_folder(folder: Path, config: DictConfig) -> Path | None:
    """Where the job ``config`` is, or is to be, if not in ``folder``, whose number it has: None if it is there."""
    saved = None
    with suppress(UserError):  # damaged: whoever reads it again says what
        saved = read_plain(str(folder)) if (folder / CONFIG).is_file() else None
    if saved is None:
        return _under_another_number(config) if not (folder / CONFIG).is_file() else None
    if is_job(saved, config):
        return None
    values_only = _named(saved) == _named(resolved(config))  # a sweep with more values, and not another sweep
    return _under_another_number(config) or (_free(folder, config) if values_only else None)


def _named(config: dict[str, Any]) -> set[str]:
    """The options on the command line."""
    return {str(word).partition("=")[0] for word in config.get("overrides") or ()}


def _under_another_number(config: DictConfig) -> Path | None:
    """The folder of this job, if it had another number when the sweep had fewer or other values of an option."""
    folder = Path(config.run_folder)
    name = folder.name.partition("-")[2]
    for other in sorted(folder.parent.iterdir()) if folder.parent.is_dir() else ():
        called = other.name.partition("-")[2]
        if (called == name or called.startswith(f"{name}-")) and (other / CONFIG).is_file():
            with suppress(UserError):  # damaged
                if is_job(read_plain(str(other)), config):
                    return other
    return None


def _free(folder: Path, config: DictConfig) -> Path:
    """A folder for the job ``config`` whose number another job had before: its name and a digest of its options."""
    options = json.dumps(_options(resolved(config)), sort_keys=True, default=str)
    return folder.with_name(f"{folder.name}-{hashlib.sha256(options.encode()).hexdigest()[:8]}")


def is_job(saved: dict[str, Any], config: DictConfig) -> bool:
    """Whether ``saved`` is of the job ``config``, perhaps with smaller batches after memory had run out."""
    return _options(saved) in (_options(resolved(halved)) for halved in halvings(config))


def _options(config: dict[str, Any]) -> dict[str, Any]:
    """The options that make it this job: without the command line's words, wherever folder and cache are."""
    flat = {name: value for name, value in config.items() if name not in ("overrides", "cache")}
    kept = moved(moved(flat, str(config.get("run_folder")), "RUN"), sweep_of(config), "SWEEP")
    sweep = dict(config.get("sweep") or {})
    sweep.pop("dir", None)
    group = Path(sweep_of(config)).name
    sweep.pop("wait", None)  # whether it waited for the jobs
    loggers, data = dict(kept.get("logger") or {}), dict(kept.get("data") or {})
    for name, logger in loggers.items():
        if isinstance(logger, dict) and logger.get("group") == group:  # the default
            loggers[name] = logger | {"group": None}
    if isinstance(data.get("module"), dict):
        data["module"] = data["module"] | {"cache": None}
    return kept | {"sweep": sweep, "logger": loggers, "data": data}


def sweep_of(config: dict[str, Any]) -> str:
    """The folder of the sweep, as the configuration has it."""
    return str((config.get("sweep") or {}).get("dir", ""))


class Sweep(Callback):
    """Hydra's callback of a sweep, for the process that launches jobs in others: it knows the folder of the sweep."""

    folder: str | None = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Keep the folder in mind."""
        Sweep.folder = config.sweep.dir

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Show all its runs in one table, and forget it. A sweep over ``resume`` has its runs elsewhere."""
        folder, Sweep.folder = Sweep.folder, None
        if folder is not None and not is_child() and next(Path(folder).glob(f"*/{CONFIG}"), None):
            from unrolled.comparison.sweep_table import sweep_table  # which only the end of a sweep needs

            sys.stdout.write(f"\n{folder}\n{sweep_table(load_runs(folder))}")
            sys.stdout.flush()

    @classmethod
    def say_how_to_continue(cls) -> None:
        """A line, if this process has launched a sweep, which has been interrupted."""
        if cls.folder is not None and is_first():
            log.info("interrupted; continue with the same command and sweep.dir=%s", cls.folder)
            cls.folder = None
