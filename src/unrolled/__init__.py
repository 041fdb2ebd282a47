"""unrolled: recurrent attention for translation, and recurrent language models.

From Python: `load` a run, `train` one, `compare` several, and what the other commands do;
docs/python.md. Importing the package loads nothing large.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unrolled.api.aligned_text import align as align
    from unrolled.api.attention_page import look as look
    from unrolled.api.checked_part import check as check
    from unrolled.api.compared_runs import compare as compare
    from unrolled.api.imported_run import import_arpa as import_arpa
    from unrolled.api.imported_run import import_weights as import_weights
    from unrolled.api.interpolated_models import interpolate as interpolate
    from unrolled.api.loading import load as load
    from unrolled.api.new_run import train as train
    from unrolled.api.rescored_lists import rescore as rescore
    from unrolled.api.trained_run import TrainedRun as TrainedRun
    from unrolled.errors import UserError as UserError

__version__ = "0.1.0"

OFFERED = {
    "load": "unrolled.api.loading",
    "train": "unrolled.api.new_run",
    "compare": "unrolled.api.compared_runs",
    "look": "unrolled.api.attention_page",
    "rescore": "unrolled.api.rescored_lists",
    "interpolate": "unrolled.api.interpolated_models",
    "align": "unrolled.api.aligned_text",
    "check": "unrolled.api.checked_part",
    "import_weights": "unrolled.api.imported_run",
    "import_arpa": "unrolled.api.imported_run",
    "TrainedRun": "unrolled.api.trained_run",
    "UserError": "unrolled.errors",
}
"""What the package offers, and where it is."""

__all__ = [
    "TrainedRun",
    "UserError",
    "__version__",
    "align",
    "check",
    "compare",
    "import_arpa",
    "import_weights",
    "interpolate",
    "load",
    "look",
    "rescore",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only then. AttributeError: a name that is not offered."""
    if name not in OFFERED:
        raise AttributeError(f"module 'unrolled' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(OFFERED[name]), name)
    return value


def __dir__() -> list[str]:
    """For completion: what is offered, imported or not."""
    return sorted({*globals(), *__all__})
