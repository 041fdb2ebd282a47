"""Imports and starts Weights & Biases without parts that nothing here uses, and without idle waiting.

W&B's settings are a pydantic model that looks up its own source text for the description of every field, and asks
Python each time which of all loaded modules it is from: a third of a second, as torch has thousands. Every run also
imports W&B Launch, which starts jobs from queues, to see whether it was given inputs; it was not, unless it is imported
already. W&B looks for its service, which starts in 0.03 seconds, only every 0.2. And for the list of installed packages
it parses the metadata of each twice, with its whole description: a tenth of a second.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.parser import HeaderParser
from importlib.metadata import distributions
from types import ModuleType
from typing import Any

LAUNCH = "wandb.sdk.launch"
LOOK = "_detect_and_apply_job_inputs"
BETWEEN_LOOKS = 0.01  # seconds


def import_wandb() -> ModuleType:
    """The module ``wandb``."""
    if "wandb" not in sys.modules:
        with _without_descriptions():
            import wandb.sdk.wandb_run
        _look_for_inputs_of_launch_alone(wandb.sdk.wandb_run.Run)
        _look_for_the_service_often()
        _list_packages_by_their_headers()
    import wandb

    return wandb


@contextmanager
def _without_descriptions() -> Iterator[None]:
    """pydantic reads no source text for descriptions."""
    try:
        from pydantic._internal import _fields

        read = _fields._update_fields_from_docstrings
    except (ImportError, AttributeError):  # another version: import it as usual
        yield
        return
    replaced: Any = _fields
    replaced._update_fields_from_docstrings = lambda *_, **__: None
    try:
        yield
    finally:
        replaced._update_fields_from_docstrings = read


def _look_for_inputs_of_launch_alone(run: Any) -> None:
    """A run looks for Launch's inputs if Launch was imported."""
    look = getattr(run, LOOK, None)
    if look is not None:
        setattr(run, LOOK, lambda self: look(self) if LAUNCH in sys.modules else None)


def _look_for_the_service_often() -> None:
    """The wait for W&B's service ends when the service is there."""
    try:
        from wandb.sdk.lib.service import service_port_file
    except ImportError:  # another version: it waits as usual
        return
    if hasattr(service_port_file, "_SLEEP"):
        waiting: Any = service_port_file
        waiting._SLEEP = lambda seconds: time.sleep(min(seconds, BETWEEN_LOOKS))


def _list_packages_by_their_headers() -> None:
    """A run's list of installed packages is made from the headers of their metadata."""
    try:
        from wandb import util
        from wandb.util import InstalledDistribution
    except ImportError:  # another version: it reads everything as usual
        return
    if hasattr(util, "working_set"):
        replaced: Any = util
        replaced.working_set = lambda: installed(InstalledDistribution)


def installed(kind: Callable[..., Any]) -> Iterator[Any]:
    """``kind(key, version)`` of every installed package that has a name and a version."""
    for package in distributions():
        try:
            text = package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
        except UnicodeDecodeError:
            continue
        headers = HeaderParser().parsestr(text.partition("\n\n")[0])
        if "Name" in headers and "Version" in headers:
            yield kind(key=headers["Name"], version=headers["Version"])
