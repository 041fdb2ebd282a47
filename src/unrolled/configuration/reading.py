"""Configurations as plain values, and those of run folders."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unrolled.errors import UserError
from unrolled.training.comparison.sweep import Run, find_runs, read_run


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
    path = Path(run) / "config.yaml"
    if not path.is_file():
        raise UserError(f"run={run}: there is no {path}; name the folder that train.py wrote its results to")
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    return config


def run_folders(config: DictConfig, option: str = "run") -> list[str]:
    """The value of ``option`` as a list; UserError if it is empty."""
    value = config[option]
    runs = list(value) if isinstance(value, ListConfig) else [value]
    if not runs:
        raise UserError(f"{option}=[]: name at least one run folder")
    return runs


def load_runs(folders: str | list[str] | None) -> list[Run]:
    """The run folders among ``folders``, see `find_runs`, read. UserError: what `find_runs` refuses."""
    runs = []
    for folder in find_runs(folders):
        try:
            config = resolved(read_config(str(folder))) if (folder / "config.yaml").is_file() else None
        except (YAMLError, OmegaConfBaseException, AssertionError):  # damaged, as on a full disk
            config = None
        runs.append(read_run(folder, config))
    return runs
