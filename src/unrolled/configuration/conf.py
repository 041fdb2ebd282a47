"""conf/: the choices that this installation offers, a folder a group."""

import re
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[1] / "conf"  # in a wheel
CONF = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[3] / "conf"
_TARGET = re.compile(r"^ *_target_: *([\w.]+)", re.MULTILINE)


def targets_of(group: str) -> set[str]:
    """The classes and functions that the files of a group name."""
    files = (CONF / group).rglob("*.yaml")
    return {target for file in files for target in _TARGET.findall(file.read_text(encoding="utf-8"))}
