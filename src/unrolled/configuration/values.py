"""Configurations as plain values, configurations of run folders, and the resolvers that conf/ uses."""

import os
import secrets
import time
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf._utils import get_omega_conf_dumper, get_yaml_loader
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from unrolled.configuration.moved import brought_up_to_date
from unrolled.configuration.slots import check_plain, check_slots
from unrolled.errors import UserError, called
from unrolled.files import check_regular
from unrolled.runs.folder import Run, find_runs, read_run
from unrolled.training.cluster import shared_start

CONFIG = "config.yaml"

_copying = Lock()  # OmegaConf takes a value from its parent while it copies it


def resolved(config: DictConfig) -> Any:
    """Plain dictionaries, lists, strings and numbers, interpolations resolved. A missing value is an error."""
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def to_yaml(config: DictConfig) -> str:
    """The resolved configuration as YAML, enough to run it again."""
    values = resolved(config)
    return yaml.dump(
        values, Dumper=get_omega_conf_dumper(), default_flow_style=False, allow_unicode=True, sort_keys=False
    )


LARGEST = 2**20  # bytes of a config.yaml; ours have 10,000
MOST = 100_000  # values in one, aliases written out
READ = 16  # configurations that are remembered: a command reads the same run's several times
GROUPS = ["choices", "attention", "model", "alignment", "data", "tokenizer", "objective", "optimizer", "schedule"]
GROUPS += ["callbacks", "search", "validation_search", "logger", "trainer"]


def read_config(run: str | None, option: str = "run") -> DictConfig:
    """The configuration of the run folder ``run``, which may name only what `slots` offers.

    option: what gave the folder, for messages. UserError: no run folder, no sound configuration, a configuration that
    names anything else.
    """
    text, config = _read(run, option)
    check_slots(config, f"{run}/{CONFIG}")
    with _copying:
        return deepcopy(_created(text))


def read_plain(run: str | None) -> dict[str, Any]:
    """The configuration of the run folder ``run`` as text, lists and numbers, to be compared and shown but not built.

    UserError: no run folder, no sound configuration.
    """
    return _read(run)[1]


def _read(run: str | None, option: str = "run") -> tuple[str, dict[str, Any]]:
    """The text of a run folder's configuration, and what it says, see `read_plain`."""
    if run is None:
        raise UserError(f"{option}=... is missing: name a run folder: {option}=outputs/cgru-gru_att-reorder/<when>")
    if not isinstance(run, str):
        raise UserError(f"{option}={run}: name a run folder")
    path = Path(run) / CONFIG
    check_regular(path)
    if not path.is_file():
        wrote = called("train")
        raise UserError(f"{option}={run}: there is no {path}; name the folder that {wrote} wrote its results to")
    if path.stat().st_size > LARGEST:
        raise UserError(
            f"{path}: {path.stat().st_size} bytes are too many for a configuration; restore the run's own file"
        )
    damaged = f"{path}: this is no configuration of a run"
    try:
        text = path.read_text(encoding="utf-8")
        config = deepcopy(_plain(text))
        if not isinstance(config, dict):
            raise UserError(f"{damaged}, but a {type(config).__name__}; restore the run's own file")
        if not config:
            raise UserError(f"{damaged}: it is empty; restore the run's own file")
        config = brought_up_to_date(config)
        check_plain(config, str(path))
    except (YAMLError, OmegaConfBaseException, ValueError, RecursionError, AssertionError) as problem:
        what = "nested too deep" if isinstance(problem, RecursionError) else " ".join(str(problem).split())
        raise UserError(f"{damaged} ({what:.200}); restore the run's own file") from problem
    for group in GROUPS:
        if not isinstance(config.get(group, {}), dict | None):
            raise UserError(f"{path}: {group}: {config[group]!r:.80} is given where options belong")
    return text, config


@lru_cache(maxsize=READ)
def _created(text: str) -> DictConfig:
    return OmegaConf.create(brought_up_to_date(_plain(text)))


@lru_cache(maxsize=READ)
def _plain(text: str) -> Any:
    """A YAML file's values. ValueError: aliases that expand to more values than a run can have."""
    if "&" in text and (root := yaml.compose(text, yaml.SafeLoader)) is not None:
        sizes: dict[int, float] = {}

        def size(node: yaml.Node) -> float:
            if id(node) not in sizes:
                sizes[id(node)] = inf  # until it is known: an alias of its own container has no end
                inside = (
                    [child for pair in node.value for child in pair]
                    if isinstance(node, yaml.MappingNode)
                    else (node.value if isinstance(node, yaml.SequenceNode) else [])
                )
                sizes[id(node)] = 1 + sum(map(size, inside))
            return sizes[id(node)]

        if size(root) > MOST:
            raise ValueError(f"its aliases expand to more than {MOST} values")
    values = yaml.load(text, Loader=get_yaml_loader())
    _check_kinds(values)
    return {} if values is None else values


def _check_kinds(value: Any) -> None:
    """ValueError: a tagged value, such as a set; a configuration has text, numbers, lists and groups of them."""
    if not isinstance(value, dict | list | str | int | float | None):
        raise ValueError(f"a {type(value).__name__} is no value of a configuration")
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str | int | float):
                raise ValueError(f"a {type(key).__name__} is no name of a value")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_kinds(item)


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
            config = read_plain(str(folder)) if (folder / CONFIG).is_file() else None
        except UserError:  # damaged, as on a full disk
            config = None
        runs.append(read_run(folder, config))
    return runs


def register_resolvers() -> None:
    """Register them with OmegaConf. The start has one value per process, so that names agree."""
    OmegaConf.register_new_resolver("start", _start, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("absolute", _absolute, replace=True)
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)
    OmegaConf.register_new_resolver("one_folder", _one_folder, replace=True)
    OmegaConf.register_new_resolver("better", _better, replace=True)
    OmegaConf.register_new_resolver("rate_of_batch", _rate_of_batch, replace=True)


def _one_folder(name: str) -> str:
    """``name`` as the name of one folder: a run such as model=mine/small is one, in its sweep's folder."""
    return str(name).replace("/", "-")


LOWER = ("loss", "perplexity", "aer", "ter", "error_rate")


def _better(figure: str, known: str | None = None, mode: str | None = None) -> str:
    """Whether the smallest or the largest of a figure's values is best, by its name: min or max.

    It is ``mode`` for the figure ``known``.
    """
    if mode is not None and figure == known:
        return mode
    return "min" if str(figure).endswith(LOWER) else "max"


BATCH = 2000  # padded positions of an update, for which the default learning rates are


def _rate_of_batch(rate: float, positions: Any, batches: Any) -> float:
    """The learning rate of updates of ``batches`` batches of ``positions`` padded positions.

    It is ``rate`` up to `BATCH` of them, and above that it grows with their square root (Malladi et al. 2022):
    an epoch of larger batches has fewer updates, and less noise in each. A count that is missing or wrong leaves
    ``rate`` as it is: the checks of ranges report it.
    """
    if not all(isinstance(count, int) and count > 0 for count in (positions, batches)):
        return rate
    return rate * max(1.0, positions * batches / BATCH) ** 0.5


def _start(of: str = "run") -> str:
    """The start of a run, or of a sweep, the same for all its processes. Two in the same second differ."""
    return shared_start(f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{secrets.token_hex(3)}", of)


def _absolute(paths: str | ListConfig | None) -> str | ListConfig | None:
    """A path, or several, made absolute: evaluate.py finds the data of a run from any folder."""
    if paths is None:
        return None
    return os.path.abspath(paths) if isinstance(paths, str) else ListConfig([os.path.abspath(str(p)) for p in paths])


def _run_folder(resume: str | None, reproduce: str | None, name: str, start: str) -> str:
    """Hydra's output folder: the resumed run's, '.' if that does not exist (reported later); else outputs/NAME/START.

    NAME is ``name``, or that of the run to reproduce.
    """
    if resume is not None:
        return resume if os.path.isdir(resume) else "."
    if reproduce is not None:
        with suppress(UserError):  # no such run, which is reported later
            again = _one_folder(read_plain(reproduce).get("name", name))
            name = again if again.isprintable() and again.strip(".") else name
    return f"outputs/{name}/{start}"
