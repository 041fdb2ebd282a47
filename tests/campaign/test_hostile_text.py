"""The short form of `python -m tests.campaign.hostile_text`."""

import pytest

from campaign import hostile_text


@pytest.mark.slow
def test_hostile_text_is_read_without_a_shift_or_refused_in_one_line():
    counts = hostile_text.campaign(hostile_text.SHORT, seed=7)
    assert counts["read"] > 3
    assert counts["refused"] > 3


@pytest.mark.slow
def test_a_reader_that_breaks_lines_elsewhere_is_caught(monkeypatch, tmp_path):
    """As str.splitlines would, at U+2028 and others."""

    def broken(path):
        return iter(path.read_text(encoding="utf-8", errors="replace").splitlines())

    monkeypatch.setattr(hostile_text, "read_lines", broken)
    with pytest.raises(AssertionError):
        hostile_text.campaign(60, seed=7)
