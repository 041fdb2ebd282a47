"""Folders of the cache, each with a SHA256SUMS (as `sha256sum -c` reads it): damage is found and repaired."""

import hashlib
import logging
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from unrolled.errors import UserError
from unrolled.files import appearing, check_regular, is_writable
from unrolled.text.lines import sha256

log = logging.getLogger(__name__)

SUMS = "SHA256SUMS"


def name_in_cache(*parts: object) -> str:
    """A name for what depends only on ``parts``."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def keep(folder: Path, make: Callable[[Path], object]) -> None:
    """Fill ``folder`` with what ``make`` writes to the path it is given; again, with a notice, if it is damaged.

    UserError: it cannot be written.
    """
    if is_whole(folder):
        return
    if folder.exists():
        log.warning("%s: damaged, or from an earlier version; it will be made again", folder)
        away = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}")
        with suppress(FileNotFoundError):  # another process of the run was faster
            folder.rename(away)
            if is_whole(away):  # another process has mended it since we looked
                with suppress(OSError):  # and a third has once more
                    away.rename(folder)
                    return
            shutil.rmtree(away) if away.is_dir() else away.unlink()
    if not is_writable(folder.parent):
        raise UserError(
            f"{folder.parent}: cannot be created or written: give the cache another folder, by UNROLLED_CACHE=DIR in "
            "the environment, or by cache=DIR in a new training"
        )
    with appearing(folder) as partial:
        make(partial)
        (partial / SUMS).write_text(_sums(partial), encoding="utf-8")


def is_whole(folder: Path) -> bool:
    """Whether the files of ``folder`` are those that were written, by name and by SHA-256."""
    try:
        check_regular(folder / SUMS)
        sums = (folder / SUMS).read_text(encoding="utf-8")
        return sums != "" and sums == _sums(folder)
    except (OSError, ValueError, UserError):  # UserError: a file that cannot be read, or is none
        return False


def _sums(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if not path.is_dir() and path.name != SUMS)
    return "".join(f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files)
