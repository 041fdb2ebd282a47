"""Completion of `unrolled COMMAND name=value` by the shell: Hydra's, which knows programs without commands."""

import os
import sys
from collections.abc import Sequence

import hydra
from omegaconf import DictConfig

from unrolled.configuration.conf import CONF
from unrolled.configuration.help import has_options
from unrolled.configuration.hints import check_completion

PROGRAM = "unrolled"


def complete(commands: Sequence[str], request: str) -> None:
    """Print what the shell runs (``install=bash``), or the words that may come next (``query=bash``).

    The line so far is in the environment variable COMP_LINE.
    """
    check_completion(request)
    command = "train"  # and of options, which lists train's
    if request.startswith("query="):
        line = os.environ.get("COMP_LINE", "")
        words = line.split(maxsplit=2)
        if len(words) < 2 or (len(words) == 2 and not line[-1].isspace()):
            sys.stdout.write("".join(f"{name}\n" for name in commands))
            return
        command = words[1] if has_options(words[1]) else command
        os.environ["COMP_LINE"] = f"{PROGRAM} {''.join(words[2:])}"
    sys.argv = [PROGRAM, "--shell-completion", request]
    hydra.main(version_base="1.3", config_path=str(CONF), config_name=command)(_nothing)()


def _nothing(_: DictConfig) -> None:
    raise AssertionError("Hydra completes the line instead")
