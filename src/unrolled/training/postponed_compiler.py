"""``torch._dynamo``, the compiler's front end, is imported when something is compiled, not by every training.

Lightning imports it to recognise compiled modules, and torch's optimisers to tell it where not to compile: 1.5 s, with
SymPy. Until it is needed a module in its place answers both: nothing is compiled yet. Any other name loads the real
one, into the same module.
"""

import functools
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

NAME = "torch._dynamo"
_OWN = ("__class__", "__dict__", "__name__", "__spec__", "__loader__", "__path__", "__file__", "__package__", "__doc__")


def postpone() -> None:
    """Put the module in its place, unless the compiler is imported already."""
    import torch

    spec = None if NAME in sys.modules else find_spec(NAME)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    module.__dict__.update(disable=_disable, graph_break=_graph_break, OptimizedModule=_Optimized)
    module.__class__ = _Postponed
    sys.modules[NAME] = module
    torch.__dict__["_dynamo"] = module
    sys.meta_path.insert(0, _BeforeParts())


class _Postponed(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        if name not in _OWN and name not in ("disable", "graph_break", "OptimizedModule"):
            _load(self)
        return ModuleType.__getattribute__(self, name)


class _BeforeParts(MetaPathFinder, Loader):
    """Loads the module before any of its parts, and hands out the part that it has loaded."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        module = sys.modules.get(NAME)
        if isinstance(module, _Postponed) and fullname.startswith(f"{NAME}."):
            _load(module)
            module = sys.modules.get(fullname)
            if module is not None:  # the import continues by its specification
                spec = ModuleSpec(fullname, self, loader_state=module.__spec__)
                ModuleType.__setattr__(module, "__spec__", spec)  # torch._dynamo.config refuses the usual way
                return spec
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has run."""
        assert module.__spec__ is not None
        ModuleType.__setattr__(module, "__spec__", module.__spec__.loader_state)


def _load(module: ModuleType) -> None:
    module.__class__ = ModuleType
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module)


def _compiler() -> Any:
    """The compiler, if it has been loaded."""
    module = sys.modules.get(NAME)
    return None if isinstance(module, _Postponed) else module


def _graph_break(msg: str = "") -> None:
    """A graph break does nothing: nothing is being compiled."""


def _disable(fn: Callable[..., Any] | None = None, recursive: bool = True, **options: Any) -> Any:
    """``fn``, which the compiler, once it is loaded, leaves alone."""
    if fn is None:
        return functools.partial(_disable, recursive=recursive, **options)
    of_compiler: list[Callable[..., Any]] = []

    @functools.wraps(fn)
    def uncompiled(*args: Any, **kwargs: Any) -> Any:
        compiler = _compiler()
        if compiler is None:
            return fn(*args, **kwargs)
        if not of_compiler:
            of_compiler.append(compiler.disable(fn, recursive, **options))
        return of_compiler[0](*args, **kwargs)

    return uncompiled


class _OfCompiled(type):
    def __instancecheck__(cls, instance: object) -> bool:
        compiler = _compiler()
        return compiler is not None and isinstance(instance, compiler.OptimizedModule)


class _Optimized(metaclass=_OfCompiled):
    """The class of compiled modules: there are none before there is a compiler."""
