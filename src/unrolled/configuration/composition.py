"""A command's configuration composed inside a program or notebook, which finds Hydra as it was before."""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import OverrideParseException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from unrolled.configuration.checks import check_choices
from unrolled.configuration.conf import CONF
from unrolled.configuration.hints import check_words
from unrolled.configuration.mistakes import NAMED, not_named, users_mistake
from unrolled.configuration.ranges import check_options
from unrolled.configuration.values import resolved
from unrolled.errors import UserError, called, nearest

one_at_a_time = threading.RLock()
"""Hydra has one state for the whole process: a thread that composes, or trains, makes others wait."""


def options_of(values: Mapping[str, Any]) -> list[str]:
    """{"seed": 3, "data.train": ["a b", "c"]} -> seed=3, data.train=['a b','c']; a value None is null."""
    return [f"{name}={_written(value)}" for name, value in values.items()]


def _written(value: Any) -> str:
    """A value in Hydra's grammar: text always in quotes, so that nothing in it has a special meaning."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a number of NumPy's or PyTorch's
        value = value.item()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str | Path):
        text = str(value)
        if "\n" in text or "${" in text:
            raise UserError(f"{text!r:.80}: an option's value must be one line, without ${{...}}")
        # only backslashes before a quote are special, so those are doubled
        return "'" + re.sub(r"(\\*)('|$)", lambda match: 2 * match[1] + ("\\'" if match[2] else ""), text) + "'"
    raise UserError(
        f"{value!r:.80} is not a value for an option: give text, a number, true or false, a list or a dictionary"
    )


def value_in(option: str) -> Any:
    """The value of ``option``, text such as "cache='a b'"; as it is if it cannot be read, which `composing` reports."""
    try:
        return OverridesParser.create().parse_override(option).value()
    except OverrideParseException:
        return option.partition("=")[2]


def check_texts(options: Sequence[object]) -> None:
    """UserError: an option that is not text."""
    for option in options:
        if not isinstance(option, str):
            raise UserError(f"{option!r:.80}: an option is text such as 'model=cgru'")
        if option.startswith("-"):
            raise UserError(f"{option}: this is for the command line; options are text such as 'model=cgru'")


def known(options: Sequence[str], names: Sequence[str], where: str) -> list[str]:
    """The ``options``. UserError: an option whose first word is not among ``names``, and so has no effect there."""
    for option in options:
        name = str(option).lstrip("+~").partition("=")[0]
        if name.partition(".")[0].partition("/")[0].partition("@")[0] not in names:
            raise UserError(f"{option}: {where}(...) takes other options{nearest(name, names)}")
    return list(options)


@contextmanager
def one_line(options: Sequence[str] = ()) -> Iterator[None]:
    """UserError instead of what Hydra and OmegaConf raise at a user's mistake; other errors pass unchanged.

    options: those that were given. The arguments of the program around us are none.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as problem:
        line = users_mistake(problem, options)
        if line is None:
            raise
        if several := re.match(r"(.+): add -m ", line):
            line = f"{several[1]}: one value at a time; several are a loop in Python, or {called('train')} -m"
        raise UserError(line) from None  # in a notebook the causes would be several screens of Hydra's code


@contextmanager
def composing(command: str, options: Sequence[str]) -> Iterator[DictConfig]:
    """conf/``command``.yaml with ``options`` as on the command line, checked; Hydra knows them during the block.

    UserError: an option that does not exist, or that has no such value.
    """
    check_texts(options)
    with one_at_a_time:
        yield from _composing(command, options)


def _composing(command: str, options: Sequence[str]) -> Iterator[DictConfig]:
    singleton = HydraConfig.instance()
    composer, before = GlobalHydra.instance().hydra, singleton.cfg  # of a program that uses Hydra itself
    GlobalHydra.instance().hydra = None
    try:
        with one_line(options):
            check_words(command, False, options)
            if words := not_named(options):
                raise UserError(f"{' '.join(words)}: {NAMED}")
            with initialize_config_dir(str(CONF), job_name=command, version_base="1.3"):
                config = compose(command, list(options), return_hydra_config=True)
            singleton.set_config(config)  # the name of the run folder depends on it
            with read_write(config.hydra.runtime), open_dict(config.hydra.runtime):
                config.hydra.runtime.output_dir = os.path.abspath(config.hydra.run.dir)
            singleton.set_config(config)
            with open_dict(config):
                del config["hydra"]
            check_choices(config)
            check_options(config, command)
            yield config
    finally:
        singleton.cfg = before
        GlobalHydra.instance().hydra = composer  # Hydra has put another instance in its place


def composed(command: str, options: Sequence[str] = ()) -> DictConfig:
    """The same with all interpolations resolved, for use after the block; a copy of its own for every caller."""
    values: dict[str, Any] = _composed(command, tuple(options), os.getcwd(), os.environ.get("UNROLLED_CACHE"))
    return DictConfig(OmegaConf.create(values))


@lru_cache(maxsize=64)  # a composition takes a tenth of a second, and a notebook asks for the same ones
def _composed(command: str, options: tuple[str, ...], folder: str, cache: str | None) -> Any:
    with composing(command, options) as config:
        return resolved(config)
