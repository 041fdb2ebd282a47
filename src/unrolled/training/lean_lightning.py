"""Import this before Lightning: Lightning then loads quietly, without parts that nothing here uses.

Lightning needs ``torchmetrics.Metric`` and ``MetricCollection`` for its annotations. The package's ``__init__`` imports
all its metrics and, if it happens to be installed, SciPy: a quarter of the start-up time. Here it runs only when
another name is requested. The same goes for ``torch._dynamo``, the compiler with SymPy (`postponed_compiler`), and for
drawing metrics with matplotlib.

Importing Lightning also makes its loggers verbose; here they keep the levels that a command has set.
"""

import importlib
import logging
import sys
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from unrolled.training.postponed_compiler import postpone

NAME = "torchmetrics"
LOUD = ("lightning.pytorch", "lightning.fabric")
ASKS, MATPLOTLIB = f"{NAME}.utilities.imports", "_MATPLOTLIB_AVAILABLE"
NEEDED = {"Metric": "metric", "MetricCollection": "collections"}


def _import() -> None:
    spec = None if NAME in sys.modules else find_spec(NAME)
    if spec is None or spec.loader is None:
        return
    package, loader = module_from_spec(spec), spec.loader

    def whole(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
        del package.__dict__["__getattr__"]
        _let_it_draw()
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__.update(__version__=version(NAME), _logger=logging.getLogger(NAME), __getattr__=whole)
    sys.modules[NAME] = package
    try:
        _without_drawing(package)
        importlib.import_module(f"{NAME}.utilities")  # it and metric import each other; this order works
        for name, module in NEEDED.items():
            setattr(package, name, getattr(importlib.import_module(f"{NAME}.{module}"), name))
    except (ImportError, AttributeError, KeyError, OSError):  # another version: import it as usual
        for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
            del sys.modules[name]


def _without_drawing(package: ModuleType) -> None:
    """torchmetrics imports matplotlib, to draw metrics, if it finds it: let it find none for now."""
    path = Path(package.__path__[0]) / "utilities" / "imports.py"
    spec = spec_from_file_location(ASKS, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__[f"{MATPLOTLIB}_WAS"], module.__dict__[MATPLOTLIB] = module.__dict__[MATPLOTLIB], False
    sys.modules[ASKS] = module


def _let_it_draw() -> None:
    module = sys.modules.get(ASKS)
    if module is not None and f"{MATPLOTLIB}_WAS" in module.__dict__:
        module.__dict__[MATPLOTLIB] = module.__dict__.pop(f"{MATPLOTLIB}_WAS")
        importlib.reload(sys.modules[f"{NAME}.utilities.plot"])


def _import_quietly() -> None:
    levels = {logger: logger.level for logger in map(logging.getLogger, LOUD)}
    importlib.import_module("lightning")
    for logger, level in levels.items():
        logger.setLevel(level or logger.level)


postpone()
_import()
_import_quietly()
