"""Hydra composes what is chosen from conf/ once in a process; the values that overrides give are put in every time.

Reading conf/ anew takes a fifth of all end-to-end tests. What is remembered is what Hydra made of the same choices from
the same sources; only conf/ itself is remembered, as tests change the folders that they add to it. Commands in
processes of their own (`run_script`, tests/test_wheel.py, tests/docs/) compose as users' do.
"""

import copy
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hydra._internal import config_loader_impl
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.defaults_list import DefaultsList, Overrides, create_defaults_list
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

from unrolled.configuration.conf import CONF

_loaded: dict[Any, bytes] = {}
_chosen: dict[Any, DefaultsList] = {}
_composed: dict[Any, bytes] = {}
_parsed: dict[str, Override] = {}

_load = ConfigRepository.load_config
_compose = ConfigLoaderImpl._compose_config_from_defaults_list
_parse_rule = OverridesParser.parse_rule


def _sources(repo: Any) -> tuple[str, ...] | None:
    """What is composed from, None if there are folders besides conf/."""
    paths = tuple(f"{source.scheme()}://{source.path}" for source in repo.get_sources())
    return paths if all(path == f"file://{CONF}" for path in paths if path.startswith("file:")) else None


def _load_once(self: ConfigRepository, config_path: str) -> Any:
    """A file of conf/, read once; Hydra changes what it gets."""
    key = (_sources(self), config_path)
    if key[0] is None:
        return _load(self, config_path)
    if key not in _loaded:
        _loaded[key] = pickle.dumps(_load(self, config_path))
    return pickle.loads(_loaded[key])


def _choose(
    repo: Any, config_name: str | None, overrides_list: list[Override], prepend_hydra: bool, skip_missing: bool
) -> DefaultsList:
    """`create_defaults_list`, once for every set of choices."""
    given, sources = Overrides(repo=repo, overrides_list=overrides_list), _sources(repo)
    values = [override.input_line for override in given.config_overrides]
    choices = tuple(override.input_line for override in overrides_list if override.input_line not in values)
    key = (sources, config_name, prepend_hydra, skip_missing, choices)
    if sources is None or key not in _chosen:
        made = create_defaults_list(repo, config_name, overrides_list, prepend_hydra, skip_missing)
        if sources is None:
            return made
        _chosen[key] = made
    made = _chosen[key]
    return DefaultsList(copy.deepcopy(made.defaults), made.defaults_tree, given.config_overrides, made.overrides)


def _compose_once(self: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> DictConfig:
    sources = _sources(repo)
    if sources is None:
        return _compose(self, defaults, repo)
    key = (sources, *((d.config_path, d.parent, d.package, d.is_self, d.primary, d.override_key) for d in defaults))
    if key not in _composed:
        _composed[key] = pickle.dumps(_compose(self, defaults, repo))
    return pickle.loads(_composed[key])


def _parse_once(self: OverridesParser, text: str, rule_name: str) -> Any:
    if rule_name != "override":
        return _parse_rule(self, text, rule_name)
    if text not in _parsed:
        _parsed[text] = _parse_rule(self, text, rule_name)
    return copy.deepcopy(_parsed[text])


@contextmanager
def composed_once() -> Iterator[None]:
    """What is composed inside is composed from the same choices once."""
    with (
        patch.object(ConfigRepository, "load_config", _load_once),
        patch.object(config_loader_impl, "create_defaults_list", _choose),
        patch.object(ConfigLoaderImpl, "_compose_config_from_defaults_list", _compose_once),
        patch.object(OverridesParser, "parse_rule", _parse_once),
    ):
        yield
