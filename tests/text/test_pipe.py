"""Lines of a pipe are passed on as soon as they arrive."""

import io
import os
import signal
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.text.pipe import PAUSE, Pipe, arriving


def chunks(text, count):
    return list(arriving(io.BytesIO(text.encode()), "input", count))


def test_lines_that_are_there_come_in_whole_chunks():
    lines = [str(number) for number in range(7)]
    assert chunks("\n".join(lines), 3) == [lines[:3], lines[3:6], lines[6:]]
    assert chunks("\n".join(lines[:6]) + "\n", 3) == [lines[:3], lines[3:6]]
    assert chunks("", 3) == []


@given(blocks=st.lists(st.binary(max_size=9).map(lambda block: block.replace(b"\r", b"\n"))))
def test_lines_are_those_of_the_stream_whatever_the_blocks(blocks):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        pipe, found = Pipe(stream), []
        for block in blocks:
            if block:
                os.write(writing, block)
                pipe._read()
                while pipe._lines:
                    found.append(next(pipe))
        os.close(writing)
        assert [*found, *pipe] == list(io.BytesIO(b"".join(blocks)))


def test_no_line_waits_for_another():
    reading, writing = os.pipe()

    def write():
        os.write(writing, b"a\nb\n")
        time.sleep(8 * PAUSE)
        os.write(writing, b"c")
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reading, "rb") as stream:
        assert list(arriving(stream, "input", 100)) == [["a", "b"], ["c"]]
    thread.join()


def test_what_goes_wrong_is_raised_after_the_lines_before_it():
    found = arriving(io.BytesIO(b"a\nb\xff\nc\n"), "input", 10)
    assert next(found) == ["a"]
    with pytest.raises(UserError, match="input:2"):
        next(found)


def test_an_interruption_that_another_thread_gets_ends_the_wait_for_a_line():
    """As one does that comes between two calls: the call that waits is not interrupted by it."""
    reading, writing = os.pipe()
    other = threading.Thread(target=time.sleep, args=(3.0,))
    other.start()
    rescue = threading.Timer(8.0, os.write, (writing, b"too late\n"))
    interrupt = threading.Timer(0.5, signal.pthread_kill, (other.ident, signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    rescue.start()
    interrupt.start()
    began = time.monotonic()
    try:
        with os.fdopen(reading, "rb") as stream, pytest.raises(KeyboardInterrupt):
            next(Pipe(stream))
        assert time.monotonic() - began < 7
    finally:
        signal.signal(signal.SIGINT, before)
        rescue.cancel()
        other.join()
        os.close(writing)
