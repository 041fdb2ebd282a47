"""Configurations as plain values, configurations of run folders, and the resolvers that conf/ uses."""

import os
import secrets
import time
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unrolled.configuration.moved import brought_up_to_date
from unrolled.errors import UserError
from unrolled.runs.folder import Run, find_runs, read_run
from unrolled.training.ranks import shared_start


def resolved(config: DictConfig) -> Any:
    """Plain dictionaries, lists, strings and numbers, interpolations resolved. A missing value is an error."""
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def to_yaml(config: DictConfig) -> str:
    """The resolved configuration as YAML, enough to run it again."""
    return OmegaConf.to_yaml(OmegaConf.create(resolved(config)))


def read_config(run: str | None) -> DictConfig:
    """The configuration of the run folder ``run``; UserError if it is no run folder."""
    if run is None:
        raise UserError("run=... is missing: name a run folder, such as run=outputs/cgru-gru_att-reorder/<when>")
    if not isinstance(run, str):
        raise UserError(f"run={run}: name a run folder")
    path = Path(run) / "config.yaml"
    if not path.is_file():
        raise UserError(f"run={run}: there is no {path}; name the folder that train.py wrote its results to")
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    return OmegaConf.create(brought_up_to_date(OmegaConf.to_container(config)))  # type: ignore[arg-type]


def run_folders(config: DictConfig, option: str = "run") -> list[str]:
    """The value of ``option`` as a list; UserError if it is empty."""
    value = config[option]
    runs = list(value) if isinstance(value, ListConfig) else [value]
    if not runs:
        raise UserError(f"{option}=[]: name at least one run folder")
    if not all(run is None or isinstance(run, str) for run in runs):
        raise UserError(f"{option}={value}: name a run folder, or several: '[A,B]'")
    return runs


def load_runs(folders: str | list[str] | None) -> list[Run]:
    """The contents of the run folders in ``folders``, see `find_runs`. UserError: what `find_runs` refuses."""
    runs = []
    for folder in find_runs(folders):
        try:
            config = resolved(read_config(str(folder))) if (folder / "config.yaml").is_file() else None
        except (YAMLError, OmegaConfBaseException, AssertionError):  # damaged, as on a full disk
            config = None
        runs.append(read_run(folder, config))
    return runs


def register_resolvers() -> None:
    """Register them with OmegaConf. Those without arguments have one value per process, so that names agree."""
    OmegaConf.register_new_resolver("unique", _unique, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("start", _start, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("absolute", _absolute, replace=True)
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


def _unique() -> str:
    """Part of the names of run and sweep folders, so that two started in the same second differ."""
    return secrets.token_hex(3)


def _start() -> str:
    """The start of a run, the same for all its processes."""
    return shared_start(f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{_unique()}")


def _absolute(paths: str | ListConfig | None) -> str | ListConfig | None:
    """A path, or several, made absolute: evaluate.py finds the data of a run from any folder."""
    if paths is None:
        return None
    return os.path.abspath(paths) if isinstance(paths, str) else ListConfig([os.path.abspath(str(p)) for p in paths])


def _run_folder(resume: str | None, new: str) -> str:
    """Hydra's output folder: the resumed run, else ``new``; '.' if that run does not exist (reported later)."""
    if resume is None:
        return new
    return resume if os.path.isdir(resume) else "."
