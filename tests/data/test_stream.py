"""Lines of a pipe go on as soon as they are there."""

import time

import pytest

from unrolled.data.stream import PAUSE, arriving
from unrolled.errors import UserError


def test_lines_that_are_there_come_in_whole_chunks():
    lines = [str(number) for number in range(7)]
    assert list(arriving(iter(lines), 3)) == [lines[:3], lines[3:6], lines[6:]]
    assert list(arriving(iter(lines[:6]), 3)) == [lines[:3], lines[3:6]]
    assert list(arriving(iter([]), 3)) == []


def test_no_line_waits_for_another():
    def slowly():
        yield "a"
        yield "b"
        time.sleep(8 * PAUSE)
        yield "c"

    assert list(arriving(slowly(), 100)) == [["a", "b"], ["c"]]


def test_what_goes_wrong_is_raised_after_the_lines_before_it():
    def broken():
        yield "a"
        raise UserError("input:2: no text")

    chunks = arriving(broken(), 10)
    assert next(chunks) == ["a"]
    with pytest.raises(UserError, match="input:2"):
        next(chunks)
