"""What a process is: the one of the user's command, one that a launcher started, or one of several of a run."""

import json
import os
import sys
from pathlib import Path

from unrolled.configuration.slots import trusted
from unrolled.configuration.trial import TRIAL, this_trial

_started: list[int] = []
"""The id of the process in which the user's command began."""

RESOLVED = "UNROLLED_CONFIG"
"""Environment variable: the path of a resolved configuration that replaces the command line."""
RESUMED = "UNROLLED_RESUMED"
"""Environment variable: not empty if that run should be resumed."""
TRUSTED = "UNROLLED_TRUSTED"
"""Environment variable: the packages that run folders may name, separated by spaces."""
CALLED = "UNROLLED_CALLED"
"""Environment variable: sys.argv of the command, as JSON, for messages and provenance.json."""


def begin_here() -> None:
    """Remember that the user's command begins in this process."""
    _started[:] = [os.getpid()]


def launched_elsewhere() -> bool:
    """Whether this job runs in another process than the command, by a launcher such as joblib or submitit."""
    return _started != [os.getpid()]


def is_child() -> bool:
    """Whether this process is one of several that train.py started for its run."""
    return RESOLVED in os.environ


def rank_environment(config: Path, *, resume: bool) -> dict[str, str]:
    """Environment variables that tell each of several processes its resolved configuration, and whether to resume."""
    trial = this_trial()
    return {
        RESOLVED: str(config),
        RESUMED: "1" if resume else "",
        TRUSTED: " ".join(trusted()),
        CALLED: json.dumps(sys.argv),
        TRIAL: "" if trial is None else trial.to_environment(),
    }
