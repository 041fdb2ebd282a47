"""conf/: the choices that this installation offers, one folder per group; packages and the user may offer more."""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

log = logging.getLogger(__name__)

_INSTALLED = Path(__file__).resolve().parents[1] / "conf"  # in a wheel
CONF = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[3] / "conf"
_TARGET = re.compile(r"^ *_target_: *([\w.]+)", re.MULTILINE)


def further() -> Iterator[tuple[str, Path]]:
    """The folders searched for choices that are not ours, each with the name of its owner."""
    yield from (("unrolled.conf", folder) for folder in of_packages())
    folder = own_conf()
    if folder is not None:
        yield "conf", folder


def of_packages() -> list[Path]:
    """The folders that installed packages add, by an entry point of the group ``unrolled.conf``.

    Its value is a name such as my_package.conf, for the folder conf/ of that package. No package is imported.
    """
    folders = []
    for entry in offered_in("unrolled.conf"):
        package, *inner = re.split(r"[.:]", entry.value)
        spec = find_spec(package)
        places = None if spec is None else spec.submodule_search_locations
        folders += [folder for place in places or () if (folder := Path(place, *inner)).is_dir()]
    return folders


def offered_in(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group that installed packages offer.

    Reading them takes 15 ms, so they are read again only if a folder on the path has changed, as after an installation.
    """
    return _offered_in(group, tuple((place, _changed(place)) for place in sys.path))


@lru_cache(maxsize=32)
def _offered_in(group: str, path: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))


def _changed(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0


def own_conf() -> Path | None:
    """conf/ in the current folder, whose choices are added; None if there is none, or if it is ours."""
    folder = Path("conf").resolve()
    return folder if folder.is_dir() and folder != CONF.resolve() else None


def import_from_here() -> None:
    """Let classes named in the user's own conf/ be imported from the folder it is in, after installed ones."""
    folder = own_conf()
    if folder is not None and str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))


def warn_of_same_names(choices: Mapping[str, str | None]) -> None:
    """A line for each choice that the user's own conf/ has too, as ours is taken."""
    folder = own_conf()
    for group, choice in choices.items():
        name = f"{group}/{choice}.yaml"
        if folder is not None and (folder / name).is_file() and (CONF / name).is_file():
            log.warning("conf/%s is not read: unrolled has its own %s=%s; rename yours", name, group, choice)


def targets_of(group: str) -> set[str]:
    """The classes and functions that a group's files name, except the user's own: a run folder may be next to those."""
    files = [file for folder in (CONF, *of_packages()) for file in (folder / group).rglob("*.yaml")]
    return {target for file in files for target in _TARGET.findall(file.read_text(encoding="utf-8"))}
