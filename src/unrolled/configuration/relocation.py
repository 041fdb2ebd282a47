"""The configuration of a run where its folder is now, which writes nowhere else."""

import os
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.values import resolved
from unrolled.errors import UserError
from unrolled.runs.resume import moved

READ = ("data", "search", "validation_search", "alignment")
"""Parts of a configuration that name files to read."""
WRITTEN = ("folder", "path", "dirpath", "filename", "save_dir", "default_root_dir")
"""Options of callbacks, loggers and the trainer that say where to write."""
WITHIN = {"filename": ["dirpath"], "name": ["save_dir"], "version": ["save_dir", "name"]}
WITHIN["sub_dir"] = [*WITHIN["version"], "version"]
"""Options that name a file or folder within that of others; ``name`` and so on only of loggers with a ``save_dir``."""


def at_home(run: DictConfig, folder: Path, cache: str) -> DictConfig:
    """The configuration of a run, writing in ``folder``, wherever the run was before, and in this command's ``cache``.

    UserError: a configuration that would write anywhere else.
    """
    if not (isinstance(run.get("run_folder"), str) and run.run_folder):
        raise UserError(f"{folder}/config.yaml: run_folder is missing; restore the run's own file")
    here = moved_to(folder, resolved(run), cache)
    for path, options in _callbacks_and_loggers(here):
        for name in (*WRITTEN, *(WITHIN if "save_dir" in options else {})):
            value = options.get(name)
            outer = [str(options[other]) for other in WITHIN.get(name, []) if options.get(other) is not None]
            place = Path(str(folder), *outer) if name in WITHIN else Path()
            leads = "$" in str(value) and "save_dir" in options  # TensorBoard's writer expands variables
            if value is not None and (leads or not _is_inside(place / str(value), folder)):
                raise UserError(
                    f"{folder}/config.yaml: {path}.{name}={value} points outside the run folder; if the run is your "
                    "own, write a path inside it there"
                )
    return here


def moved_to(folder: Path, run: dict[str, Any], cache: str) -> DictConfig:
    """The configuration ``run`` as if it had always been in ``folder``, with this command's ``cache``."""
    here = DictConfig(moved(run, run["run_folder"], str(folder)))
    here.cache = cache
    if OmegaConf.select(here, "data.module.cache") is not None:
        here.data.module.cache = cache
    return here


def _callbacks_and_loggers(config: DictConfig) -> list[tuple[str, DictConfig]]:
    callbacks = [(f"callbacks.{name}", node) for name, node in (config.get("callbacks") or {}).items()]
    loggers = [(f"logger.{name}", node) for name, node in (config.get("logger") or {}).items()]
    nodes = [*callbacks, *loggers, ("trainer", config.get("trainer"))]
    return [(path, node) for path, node in nodes if isinstance(node, DictConfig)]


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether ``path``, links followed, is ``folder`` or in it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def check_links(folder: Path, subfolder: str | None = None) -> None:
    """UserError: a file or folder in a run folder that is a link to one elsewhere, over which a command would write.

    subfolder: the one that the command writes to; None: all of it.
    """
    if subfolder is not None:
        _check_link(folder / subfolder, folder)
    for place, folders, files in os.walk(folder / (subfolder or "")):
        for name in [*folders, *files]:
            _check_link(Path(place, name), folder)
        if "wandb" in folders:  # which keeps links to its own logs
            folders.remove("wandb")


def _check_link(path: Path, folder: Path) -> None:
    if path.is_symlink() and not _is_inside(path, folder):
        raise UserError(f"{path} is a link that points outside the run folder; put the file itself there")
