"""Fonts that have the characters of any script."""

from unrolled.figures import fonts


def test_every_character_has_the_first_font_that_has_it(monkeypatch):
    has = {"DejaVu Sans": "ab▁", "Noto Sans X": "xy", "Noto Serif": "xz", "Mono Sans": "xyz"}
    monkeypatch.setattr(fonts, "_files", lambda: dict.fromkeys(has, ""))
    monkeypatch.setattr(fonts, "_characters", lambda name: frozenset(has[name]))
    assert fonts.fonts_for(["ab", "▁"]) == ["DejaVu Sans"]
    assert fonts.fonts_for(["▁ay"]) == ["DejaVu Sans", "Noto Sans X"]
    assert fonts.fonts_for(["x", "z\n"]) == ["DejaVu Sans", "Noto Sans X", "Mono Sans"]
    assert fonts.fonts_for(["?", "z"]) == ["DejaVu Sans", "Mono Sans"]
    assert fonts.fonts_for([]) == ["DejaVu Sans"]
    assert fonts.drawable("ax?\u0007 \ufe0f\U0001f600", ["DejaVu Sans", "Noto Serif"]) == "axU+003F\u0007 U+1F600"
