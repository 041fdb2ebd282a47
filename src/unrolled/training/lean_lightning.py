"""Import this before Lightning, and Lightning loads without most of torchmetrics, which nothing here uses, and quietly.

Lightning needs ``torchmetrics.Metric`` and ``MetricCollection`` for its annotations. The package's ``__init__`` imports
all its metrics and, if it happens to be installed, SciPy: a quarter of the start-up time. Here it is run only when some
other name is requested.

Importing Lightning also lets its loggers say everything; here they keep the levels that a command has given them.
"""

import importlib
import logging
import sys
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from typing import Any

NAME = "torchmetrics"
LOUD = ("lightning.pytorch", "lightning.fabric")
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
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__.update(__version__=version(NAME), _logger=logging.getLogger(NAME), __getattr__=whole)
    sys.modules[NAME] = package
    try:
        importlib.import_module(f"{NAME}.utilities")  # it and metric import each other; this order works
        for name, module in NEEDED.items():
            setattr(package, name, getattr(importlib.import_module(f"{NAME}.{module}"), name))
    except (ImportError, AttributeError):  # another version: import it as usual
        for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
            del sys.modules[name]


def _import_quietly() -> None:
    levels = {logger: logger.level for logger in map(logging.getLogger, LOUD)}
    importlib.import_module("lightning")
    for logger, level in levels.items():
        logger.setLevel(level or logger.level)


_import()
_import_quietly()
