"""Fonts for pieces of any script: the installed ones that have the characters, code points for what no font has."""

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from matplotlib.font_manager import fontManager
from matplotlib.ft2font import FT2Font

FIRST = "DejaVu Sans"
"""Comes with matplotlib; each character is drawn in the first font that has it."""
COLOR = "Color Emoji"
"""Fonts of coloured pictures, which matplotlib cannot draw."""
BETTER = ("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Arial Unicode MS")


def fonts_for(texts: Iterable[str]) -> list[str]:
    """Names of fonts, `FIRST` first, that together have every character of ``texts`` that any installed font has."""
    missing = {character for text in texts for character in text if unicodedata.category(character)[0] != "C"}
    missing -= _characters(FIRST)
    fonts = [FIRST]
    for name in _installed():
        if not missing:
            break
        if covered := missing & _characters(name):
            fonts.append(name)
            missing -= covered
    return fonts


def drawable(text: str, fonts: Iterable[str]) -> str:
    """``text`` with code points, as U+1F600, in place of the characters that none of ``fonts`` has.

    Control characters stay, and variation selectors, which only choose among a font's glyphs, are omitted.
    """
    known = frozenset[str]().union(*map(_characters, fonts))
    return "".join(
        character
        if character in known or unicodedata.category(character)[0] in "CZ"
        else ("" if "\ufe00" <= character <= "\ufe0f" else f"U+{ord(character):04X}")
        for character in text
    )


@cache
def _files() -> dict[str, str]:
    """The file of each upright font of regular weight."""
    plain = (
        font for font in fontManager.ttflist if font.style == "normal" and font.weight in (400, "normal", "regular")
    )
    return {font.name: font.fname for font in plain}


def _installed() -> Iterator[str]:
    """All fonts except the first: those that draw text well, then other sans-serif fonts, then the rest."""
    names = (name for name in _files() if name != FIRST and not name.startswith("Last Resort") and COLOR not in name)
    return iter(sorted(names, key=lambda name: (name not in BETTER, "Sans" not in name, "Mono" in name, name)))


@cache
def _characters(name: str) -> frozenset[str]:
    return frozenset(map(chr, FT2Font(_files()[name]).get_charmap()))
