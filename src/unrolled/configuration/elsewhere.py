"""Options of a choice that was not made: attention.filters, where attention=location would have it."""

import re
from collections.abc import Collection
from pathlib import Path

from unrolled.configuration.conf import CONF, further
from unrolled.configuration.meanings import read_options

OTHER_PLACE = re.compile(r"^# *@package", re.MULTILINE)
"""Says that a file's options are not those of its group."""


def choices_with(name: str, groups: Collection[str]) -> list[str]:
    """The choices, such as attention=location, that have the option with the dotted ``name``.

    groups: those that the command has; a folder of one, such as search/shortlist, is a group too.
    """
    parts = name.split(".")
    choices: list[str] = []
    for count in range(len(parts) - 1, 0, -1):
        group, option = "/".join(parts[:count]), ".".join(parts[count:])
        if parts[0] in groups:
            # what is made from other options, as data.train from data.root, is given by those
            owners = [choice for choice in _offered(group) if _options(group, choice).get(option) is False]
            choices += [f"{group}={choice}" for choice in owners]
    return choices


def is_offered(group: str, option: str) -> bool:
    """Whether any choice of ``group`` has ``option``."""
    return any(option in _options(group, choice) for choice in _offered(group))


def _offered(group: str) -> list[str]:
    folders = (CONF, *(folder for _, folder in further()))
    return sorted({file.stem for folder in folders for file in (folder / group).glob("*.yaml")})


def _options(group: str, choice: str, continuing: tuple[str, ...] = ()) -> dict[str, bool]:
    """The options of a choice, also those that it continues, with whether they are made from others."""
    file = _file(group, choice)
    text = "" if file is None else file.read_text(encoding="utf-8", errors="replace")
    if OTHER_PLACE.search(text):
        return {}
    options, continued = read_options(text)
    for other in continued:
        if other not in (here := (*continuing, choice)):
            options = _options(group, other, here) | options
    return options


def _file(group: str, choice: str) -> Path | None:
    """The first that has it, as Hydra searches."""
    files = (folder / group / f"{choice}.yaml" for folder in (CONF, *(folder for _, folder in further())))
    return next((file for file in files if file.is_file()), None)
