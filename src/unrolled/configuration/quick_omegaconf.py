"""`install` this before composing or reading a configuration: OmegaConf then takes less time, with the same result.

YAML is parsed by libyaml, where PyYAML was built with it, in a tenth of the time. An interpolation is parsed once, not
every time its value is looked up. Hydra's list of defaults gets the map that resolves interpolations only where it has
some. Nodes are copied attribute by attribute, not by ``copy``'s general way, in a third of the time: Hydra copies a
configuration several times before a command begins.
"""

from collections import defaultdict
from copy import copy, deepcopy
from functools import lru_cache
from typing import Any

import omegaconf._utils
import omegaconf.base
import yaml
from hydra._internal import defaults_list
from omegaconf import ValueNode, grammar_parser
from omegaconf.base import Metadata

PARSED = 4096  # interpolations that are remembered; conf/ has about a hundred
READ_OTHERWISE = ("\t", "\ufeff")  # libyaml accepts tabs where PyYAML does not, and skips later byte order marks


def _replaced(function: Any) -> Any:
    """What ``function`` was before an earlier import of this file, as of a notebook that loads its modules again."""
    return getattr(function, "replaces", function)


_python_loader = _replaced(omegaconf._utils.get_yaml_loader)()
_interpolation_map = _replaced(defaults_list._create_interpolation_map)


class QuickLoader:
    """OmegaConf's loader, with libyaml's parser. What that refuses is read by PyYAML's, whose message shows the line.

    libyaml limits how deep values may be nested, so that no file exhausts the stack of C. It accepts a few texts that
    PyYAML refuses, such as ``[a?]``.
    """

    def __init__(self, stream: Any) -> None:
        self._text = stream if isinstance(stream, str) else stream.read()
        self._name = getattr(stream, "name", None)

    def get_single_data(self) -> Any:
        """The values of the only document. YAMLError: no YAML, or several documents."""
        try:
            if not any(sign in self._text for sign in READ_OTHERWISE):
                return _from_c()(self._text).get_single_data()
        except yaml.YAMLError:
            pass
        loader = _python_loader(self._text)
        loader.name = self._name or loader.name
        return loader.get_single_data()

    def dispose(self) -> None:
        """Called by ``yaml.load``; there is nothing to free."""


@lru_cache(maxsize=1)
def _from_c() -> Any:
    """OmegaConf's loader, its parser replaced: the constructors and the rules for numbers are still OmegaConf's."""

    def start(self: Any, text: str) -> None:
        yaml.cyaml.CParser.__init__(self, text)
        yaml.constructor.SafeConstructor.__init__(self)
        yaml.resolver.Resolver.__init__(self)

    return type("LibyamlLoader", (yaml.cyaml.CParser, _python_loader), {"__init__": start})


def _map_if_needed(overrides: Any, defaults: list[Any], self_added: bool) -> Any:
    """What the choices among ``defaults`` are resolved with, None if none of them is an interpolation."""
    if any("${" in str(vars(default)) for default in defaults):
        return _interpolation_map(overrides, defaults, self_added)
    return None


def _copy_metadata(self: Metadata, memo: dict[int, Any]) -> Metadata:
    """A node's types and key, which nothing changes in place, with copies of its flags and of what resolvers gave."""
    new: Metadata = object.__new__(type(self))
    vars(new).update(vars(self))
    new.flags = copy(self.flags)
    new.resolver_cache = deepcopy(self.resolver_cache, memo) if self.resolver_cache else defaultdict(dict)
    return new


def _copy_value(self: ValueNode, memo: dict[int, Any]) -> ValueNode:
    """The same value and parent, as OmegaConf copies them, with metadata of its own."""
    new: ValueNode = object.__new__(type(self))
    vars(new).update(vars(self), _metadata=_copy_metadata(self._metadata, memo), _flags_cache=None)
    return new


def _replace(module: Any, name: str, function: Any) -> None:
    function.replaces = _replaced(getattr(module, name))
    setattr(module, name, function)


def install() -> None:
    """Replace OmegaConf's and Hydra's own ways by these, for the whole process."""
    if yaml.__with_libyaml__:
        _replace(omegaconf._utils, "get_yaml_loader", lambda: QuickLoader)
    _replace(defaults_list, "_create_interpolation_map", _map_if_needed)
    parse = lru_cache(PARSED)(grammar_parser.parse)
    for module in (omegaconf._utils, omegaconf.base):
        vars(module)["parse"] = parse
    for cls, way in ((Metadata, _copy_metadata), *((cls, _copy_value) for cls in ValueNode.__subclasses__())):
        type.__setattr__(cls, "__deepcopy__", way)
