"""The resolved configuration that several processes of one run read in place of the command line."""

import os
from pathlib import Path

RESOLVED = "UNROLLED_CONFIG"
"""Environment variable: the path of a resolved configuration that stands in for the command line."""

RESUMED = "UNROLLED_RESUMED"
"""Environment variable beside it: not empty where that run is to be gone on with."""


def is_child() -> bool:
    """Whether this process is one of several that train.py started for its run."""
    return RESOLVED in os.environ


def rank_environment(folder: Path, *, resume: bool) -> dict[str, str]:
    """What tells each of several processes which run it is one of, and whether that goes on."""
    return {RESOLVED: str(folder / "config.yaml"), RESUMED: "1" if resume else ""}
