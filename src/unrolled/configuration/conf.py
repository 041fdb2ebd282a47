"""conf/: the choices that this installation offers, a folder a group; installed packages may offer more."""

import re
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[1] / "conf"  # in a wheel
CONF = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[3] / "conf"
_TARGET = re.compile(r"^ *_target_: *([\w.]+)", re.MULTILINE)


def of_packages() -> list[Path]:
    """The folders that installed packages add, by an entry point of the group ``unrolled.conf``.

    Its value is such as my_package.conf, for the folder conf/ of that package. No package is imported for it.
    """
    folders = []
    for entry in entry_points(group="unrolled.conf"):
        package, *inner = re.split(r"[.:]", entry.value)
        spec = find_spec(package)
        places = None if spec is None else spec.submodule_search_locations
        folders += [folder for place in places or () if (folder := Path(place, *inner)).is_dir()]
    return folders


def targets_of(group: str) -> set[str]:
    """The classes and functions that the files of a group name."""
    files = [file for folder in (CONF, *of_packages()) for file in (folder / group).rglob("*.yaml")]
    return {target for file in files for target in _TARGET.findall(file.read_text(encoding="utf-8"))}
