"""Whether a command is a sweep without -m, seen without composing all of its options for it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from unrolled.configuration.conf import further

OTHER_CONF = ("-c", "--c")
"""How Hydra's flags for other configurations begin."""


@contextmanager
def mode_seen_in_words() -> Iterator[None]:
    """Let Hydra compose everything again to see ``hydra.mode``, a tenth of a second, only where it may be set.

    Hydra itself hides a mistake that it finds there, takes the command for a single run, and blames what only a sweep
    understands, such as choice(8,16).
    """
    from hydra._internal.hydra import Hydra
    from hydra.types import RunMode

    before = Hydra.get_mode

    def get_mode(self: Hydra, config_name: str | None, overrides: list[str]) -> Any:
        if not may_be_set(overrides, sys.argv[1:]):
            return None
        return self.compose_config(
            config_name, overrides, run_mode=RunMode.MULTIRUN, validate_sweep_overrides=False
        ).hydra.mode

    changed: Any = Hydra
    changed.get_mode = get_mode
    try:
        yield
    finally:
        changed.get_mode = before


def may_be_set(overrides: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether ``hydra.mode`` may be set: by a word, by a choice of sweep=..., or in a file that is not ours."""
    words = (override.lstrip("+~") for override in overrides)
    if any(word.startswith(("sweep=", "sweep@", "hydra=", "hydra@", "hydra.mode")) for word in words):
        return True
    if any(argument.startswith(OTHER_CONF) for argument in arguments):
        return True
    files = (file for _, folder in further() for file in folder.rglob("*.yaml"))
    try:
        texts = [file.read_text("utf-8", "replace") for file in files]
    except OSError:  # whether that matters is for Hydra to say
        return True
    return any("sweep" in text or ("hydra" in text and "mode" in text) for text in texts)
