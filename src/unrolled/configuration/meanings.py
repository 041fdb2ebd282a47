"""What options mean: the comments of the YAML files, which composing a configuration loses."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from unrolled.configuration.conf import CONF
from unrolled.errors import shown

OTHERS = re.compile(r"\$\{")
"""Occurs in a value that is made from other options."""
COMPUTED = re.compile(r"\$\{hydra:[^{}]*\}")
"""A value that says what was chosen, and is not set by the user."""


class Comments(NamedTuple):
    """The comments of one file: at its head, next to its options, next to the groups of its defaults list."""

    head: str
    options: dict[str, str]
    groups: dict[str, str]


class Option(NamedTuple):
    """What can be given on the command line as ``name=value``."""

    name: str
    value: str | None
    """Its default, None for several options together."""
    meaning: str


class Choice(NamedTuple):
    """A group of configurations, and the chosen one."""

    group: str
    chosen: str | None
    offered: list[str]
    purpose: str
    """What the group is for."""
    meaning: str
    """What the head of the chosen file says."""
    section: str
    """The section of the configuration that it is about, such as trainer for hardware."""


class Meanings(NamedTuple):
    """The options of a command as they are chosen, in the order of conf/."""

    of_command: list[Option]
    """Those of the command's own file, sections of it as one."""
    every: list[Option]
    choices: list[Choice]


def read_comments(text: str) -> Comments:
    """The comments in a YAML file, those after an option or, where there is none, in the lines above it."""
    lines = text.splitlines()
    root = yaml.compose(text, yaml.SafeLoader)
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    if isinstance(root, yaml.MappingNode):
        for path, key, value in _pairs(root, ()):
            above = "" if key.start_mark.line == root.start_mark.line else _above(lines, key)
            comment = _next_to(lines, key if isinstance(value, yaml.MappingNode) else value) or above
            if path[0] != "defaults":
                options[".".join(path)] = comment
        for key, value in root.value:
            if key.value == "defaults":
                groups = dict(_defaults(lines, value))
    return Comments(_head(lines), {name: comment for name, comment in options.items() if comment}, groups)


def read_options(text: str) -> tuple[dict[str, bool], list[str]]:
    """The options in a YAML file by dotted name, with whether they are made from others; the files that it continues.

    Those are of the same folder, named in its defaults list. A file that is no YAML, which may be the user's, has none.
    """
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError:
        return {}, []
    if not isinstance(root, yaml.MappingNode):
        return {}, []
    continued = [
        str(entry.value)
        for key, value in root.value
        if key.value == "defaults" and isinstance(value, yaml.SequenceNode)
        for entry in value.value
        if isinstance(entry, yaml.ScalarNode) and entry.value != "_self_"
    ]
    options = {
        ".".join(path): any(OTHERS.search(text) for text in _texts(value))
        for path, _, value in _pairs(root, ())
        if path[0] != "defaults"
    }
    return options, continued


def _texts(node: yaml.Node) -> Iterator[str]:
    """The texts of a value, of a list's items; none of a section, whose options have values of their own."""
    if isinstance(node, yaml.ScalarNode):
        yield node.value
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _texts(item)


def _pairs(node: yaml.MappingNode, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], yaml.Node, yaml.Node]]:
    for key, value in node.value:
        here = (*path, str(key.value))
        yield here, key, value
        if isinstance(value, yaml.MappingNode):
            yield from _pairs(value, here)


def _next_to(lines: Sequence[str], node: yaml.Node) -> str:
    rest = lines[node.end_mark.line][node.end_mark.column :] if node.end_mark.line < len(lines) else ""
    match = re.fullmatch(r":?\s*#+\s*(.*?)\s*", rest)
    return match[1] if match else ""


def _above(lines: Sequence[str], key: yaml.Node) -> str:
    comment: list[str] = []
    for line in reversed(lines[: key.start_mark.line]):
        if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) != key.start_mark.column:
            break
        comment.insert(0, line.strip(" #"))
    return " ".join(comment)


def _head(lines: Sequence[str]) -> str:
    """The lines at the head of a file, without Hydra's directive and without commands."""
    words = []
    for line in lines:
        if not line.startswith("#"):
            break
        if not re.match(r"#\s*(@package|python src/)", line):
            words.append(line.strip("# "))
    return " ".join(words)


def _defaults(lines: Sequence[str], entries: yaml.Node) -> Iterator[tuple[str, str]]:
    for entry in entries.value:
        if isinstance(entry, yaml.MappingNode):
            ((key, value),) = entry.value
            yield str(key.value).removeprefix("override ").partition("@")[0], _next_to(lines, value)


@contextmanager
def composed(command: str, overrides: Sequence[str]) -> Iterator[tuple[ConfigLoader, DictConfig]]:
    """Hydra's loader, and the configuration of ``command`` with Hydra's own."""
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose(command, list(overrides), return_hydra_config=True)
        HydraConfig.instance().set_config(config)  # for ${hydra:...}
        try:
            yield GlobalHydra.instance().config_loader(), config
        finally:
            HydraConfig.instance().cfg = None


def meanings(command: str, overrides: Sequence[str]) -> Meanings:
    """The options of ``command`` with those ``overrides``, and what they mean. Hydra's errors: unknown names."""
    with composed(command, overrides) as (loader, config):
        defaults = loader.compute_defaults_list(command, list(overrides), RunMode.RUN).defaults
        said: dict[str, str] = {}
        heads: dict[str, str] = {}
        parts: dict[str, str] = {}
        purposes: dict[str, str] = {}
        for default in defaults:
            path = str(default.config_path)
            comments = _comments(loader, path)
            if comments is None or path.startswith("hydra/traces/"):
                continue
            heads[path] = comments.head
            parts.setdefault(path, str(default.package or "").partition(".")[0])
            for group, purpose in comments.groups.items():
                purposes.setdefault(
                    group[1:] if group.startswith("/") else f"{path.rpartition('/')[0]}/{group}".lstrip("/"), purpose
                )
            package = f"{default.package}." if default.package not in ("", "_global_") else ""
            for name, comment in comments.options.items():
                _say(said, f"{package}{name}", comment)
        known = _choices(loader, config, [str(default.config_path) for default in defaults], heads, purposes, parts)
        every = list(_options(config, said))
        return Meanings(list(_own(command, every)), every, known)


def _say(said: dict[str, str], name: str, comment: str) -> None:
    """The first file says what an option means; one that changes its value may say why."""
    if name not in said:
        said[name] = comment
    elif comment not in said[name]:
        said[name] += f" (here: {comment})"


def _comments(loader: ConfigLoader, path: str) -> Comments | None:
    """The comments of the file in the search path, None for Hydra's own."""
    for source in loader.get_sources():
        if source.provider not in ("hydra", "schema") and source.is_config(path):
            if source.scheme() == "file":
                return read_comments(Path(source.path, f"{path}.yaml").read_text(encoding="utf-8"))
            if source.scheme() == "pkg" and not source.path.startswith("hydra_plugins."):
                package, *folders = source.path.split("/")
                file = files(package).joinpath(*folders, f"{path}.yaml")
                return read_comments(file.read_text(encoding="utf-8"))
            break
    return None


def _choices(
    loader: ConfigLoader,
    config: DictConfig,
    paths: Sequence[str],
    heads: Mapping[str, str],
    purposes: Mapping[str, str],
    sections: Mapping[str, str],
) -> list[Choice]:
    """In the order of the defaults list; Hydra's own groups only where they were chosen from conf/."""
    choices = {str(group): chosen for group, chosen in config.hydra.runtime.choices.items()}
    places = {group: paths.index(f"{group}/{name}") for group, name in choices.items() if f"{group}/{name}" in paths}
    rows: list[Choice] = []
    for group in sorted(choices, key=lambda group: (places.get(group.partition("/")[0], len(paths)), group)):
        chosen = choices[group]
        folder, _, package = group.partition("@")  # search/shortlist@validation_search.shortlist
        path = f"{folder}/{chosen}"
        if (group.startswith("hydra/") and not heads.get(path)) or package in choices:
            continue  # validation_search=beam chooses search@validation_search, too
        offered = sorted(loader.get_group_options(folder))
        section = package.partition(".")[0] or sections.get(path) or "_global_"
        section = group.partition("/")[0] if section == "_global_" else section
        rows.append(Choice(group, chosen, offered, purposes.get(folder, ""), heads.get(path, ""), section))
    return rows


def _options(config: DictConfig, said: Mapping[str, str]) -> Iterator[Option]:
    """Every option that has a meaning, or a value of its own rather than another option's."""
    raw = OmegaConf.to_container(config, resolve=False)
    assert isinstance(raw, Mapping)
    yield from _within(config, said, raw, "")


def _within(config: DictConfig, said: Mapping[str, str], node: Mapping[Any, Any], path: str) -> Iterator[Option]:
    for key, value in node.items():
        name = f"{path}{key}"
        if str(key).startswith("_"):
            continue
        if isinstance(value, Mapping) and value:
            yield from _section(config, said, value, name)
        elif (name in said or not (OTHERS.search(str(value)) or isinstance(value, Mapping))) and not (
            COMPUTED.fullmatch(str(value)) or (name.startswith("hydra.") and name not in said)
        ):
            yield Option(name, _default(config, name, value), said.get(name, ""))


def _section(config: DictConfig, said: Mapping[str, str], node: Mapping[Any, Any], name: str) -> Iterator[Option]:
    """What is said of a section, and its options; only the first where nothing is said of those."""
    inside = list(_within(config, said, node, f"{name}."))
    if name in said and not all(COMPUTED.fullmatch(str(value)) for value in node.values()):
        yield Option(name, None, said[name])
        inside = [option for option in inside if option.meaning] and inside
    yield from inside


def _own(command: str, every: Sequence[Option]) -> Iterator[Option]:
    """The options in the command's own file; a section with a comment is one of them."""
    known = {option.name: option for option in every}
    for name in yaml.safe_load((CONF / f"{command}.yaml").read_text(encoding="utf-8")):
        if name in known:
            yield known[name] if known[name].value is not None else known[name]._replace(name=f"{name}.*")


def _default(config: DictConfig, name: str, raw: Any) -> str:
    """The value as the command line would give it, interpolations resolved where they can be."""
    try:
        value = OmegaConf.select(config, name)
        plain = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except OmegaConfBaseException:
        plain = raw
    return _written(raw if plain is None else plain).removeprefix(f"{os.getcwd()}/")


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    return shown(value)
