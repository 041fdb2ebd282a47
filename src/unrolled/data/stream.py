"""Lines of a pipe as they come, in chunks: as many as are there, so that nothing waits for what has not come yet."""

from collections.abc import Iterator
from queue import Empty, Queue
from threading import Thread

PAUSE = 0.05
"""Seconds without a further line after which those that are there go."""


def arriving(lines: Iterator[str], count: int) -> Iterator[list[str]]:
    """Chunks of 1 to ``count`` lines, in order. What goes wrong in reading is raised after the lines before it."""
    arrived: Queue[str | BaseException | None] = Queue(maxsize=count)

    def read() -> None:
        try:
            for line in lines:
                arrived.put(line)
            arrived.put(None)
        except BaseException as problem:
            arrived.put(problem)

    Thread(target=read, daemon=True).start()
    last: str | BaseException | None = ""
    while isinstance(last, str):
        chunk = []
        last = arrived.get()
        while isinstance(last, str):
            chunk.append(last)
            if len(chunk) == count:
                break
            try:
                last = arrived.get(timeout=PAUSE)
            except Empty:
                break
        if chunk:
            yield chunk
    if last is not None:
        raise last
