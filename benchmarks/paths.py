"""Arguments that name a file or a folder, checked before a benchmark starts."""

import argparse
from collections.abc import Callable
from pathlib import Path


def holding(*names: str) -> Callable[[str], Path]:
    """An argument's type: a folder in which there are files ``names``."""

    def checked(text: str) -> Path:
        folder = existing(text)
        missing = [name for name in names if not (folder / name).exists()]
        if missing:
            raise argparse.ArgumentTypeError(f"{text} has no {', '.join(missing)}")
        return folder

    return checked


def existing(text: str) -> Path:
    """An argument's type: a file or a folder that is there."""
    if not Path(text).exists():
        raise argparse.ArgumentTypeError(f"{text}: there is no such file or folder; check the path")
    return Path(text)


TRANSLATIONS = "translations/test.txt"
MULTI30K = holding(*(f"{split}.{side}" for split in ("train", "val", "test_2016_flickr") for side in ("en", "de")))
