"""Fonts for pieces of any script: the installed ones that have the characters."""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from matplotlib.font_manager import fontManager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"
"""Comes with matplotlib; each character is drawn in the first font that has it."""
BETTER = ("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS")


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Names of fonts which together have every character of ``texts`` that an installed font has, `FIRST` the first."""
    missing = {character for text in texts for character in text if unicodedata.category(character)[0] != "C"}
    missing -= _characters(FIRST)
    found = [FIRST]
    for name in _installed():
        if not missing:
            break
        if some := missing & _characters(name):
            found.append(name)
            missing -= some
    return found


@cache
def _files() -> dict[str, str]:
    """The file of each upright font of usual weight."""
    plain = (
        font for font in fontManager.ttflist if font.style == "normal" and font.weight in (400, "normal", "regular")
    )
    return {font.name: font.fname for font in plain}


def _installed() -> Iterator[str]:
    """All fonts but the first: those that draw text well, then others without serifs, then the rest."""
    names = (name for name in _files() if name != FIRST and not name.startswith("Last Resort"))
    return iter(sorted(names, key=lambda name: (name not in BETTER, "Sans" not in name, "Mono" in name, name)))


@cache
def _characters(name: str) -> frozenset[str]:
    return frozenset(map(chr, FT2Font(_files()[name]).get_charmap()))
