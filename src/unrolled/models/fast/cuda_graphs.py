"""Loops as CUDA graphs: on a GPU, to launch the small operations of a recurrence takes longer than to compute them.

A loop consists of a function forward and one backward, over tensors of the same shapes each time. The second time that
its shapes occur, both are captured, and from then on replayed: two launches instead of one for each operation of each
step. A captured operation always reads and writes the same memory, so

* inputs are copied to a place of their own before a replay, and results from theirs after it; parameters are read where
  they are, and where they have moved, the loop is captured anew;
* between forward and backward no other loop may be replayed: it runs as it would without graphs;
* all loops share their memory, as only one of them is in use at a time.

Without a GPU nothing of this is used.
"""

import logging
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Optional = Tensor | None
Forward = Callable[[list[Optional]], tuple[tuple[Tensor, ...], Any]]
"""Inputs -> results, and whatever the backward function needs."""
Backward = Callable[[Any, list[Tensor]], tuple[Optional, ...]]
"""That, and the gradients of the results -> those of the inputs."""

ENABLED = True
"""Whether loops on a GPU are captured."""
AFTER = 1
"""So often a loop runs as usual before it is captured: capturing takes as long as several runs."""
MOST = 512
"""Loops that are kept. As capturing takes long, another is only captured in place of one that has become rare."""
RARE = 16384
"""A loop is rare if it has not occurred among the last so many."""
ALIGNMENT = 256

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Loop:
    """What can be captured. ``key``: all that it depends on besides its inputs' shapes and types.

    ``fixed``: for each input whether it is a parameter, which keeps its place.
    """

    key: Hashable
    inputs: Sequence[Optional]
    fixed: Sequence[bool]
    forward: Forward
    backward: Backward

    def identity(self) -> Hashable:
        """Equal for loops that one capture serves."""
        settings = (
            torch.backends.cuda.matmul.allow_tf32,
            torch.are_deterministic_algorithms_enabled(),
        )
        inputs = tuple(
            None if x is None else (x.shape, x.dtype, x.device, x.data_ptr() if fixed else None)
            for x, fixed in zip(self.inputs, self.fixed, strict=True)
        )
        return self.key, settings, inputs


class Captured:
    """A loop's two graphs, and the places of its inputs, results and gradients."""

    def __init__(self, loop: Loop, memory: "Memory") -> None:
        # shapes of results and gradients from a run, which also lets libraries prepare themselves
        results, kept = loop.forward(list(loop.inputs))
        gradients = loop.backward(kept, [torch.zeros_like(result) for result in results])
        copied = [None if fixed else x for x, fixed in zip(loop.inputs, loop.fixed, strict=True)]
        places = memory.places([*copied, *results, *results, *gradients])
        n = len(copied)
        self.inputs, self.results = places[:n], [x for x in places[n : n + len(results)] if x is not None]
        self.incoming = [x for x in places[n + len(results) : n + 2 * len(results)] if x is not None]
        self.outgoing = places[n + 2 * len(results) :]
        del results, kept, gradients
        read = [x if place is None else place for x, place in zip(loop.inputs, self.inputs, strict=True)]

        def forward() -> Any:
            results, kept = loop.forward(read)
            copy(results, self.results)
            return kept

        def backward(kept: Any) -> None:
            copy(loop.backward(kept, self.incoming), self.outgoing)

        self.forward, kept = capture(forward, memory.pool)
        self.backward, _ = capture(lambda: backward(kept), memory.pool)
        self.last_run = 0


def copy(sources: Sequence[Optional], places: Sequence[Optional]) -> None:
    """Each tensor to its place; where there is no tensor, zeros."""
    for source, place in zip(sources, places, strict=True):
        if place is not None:
            place.zero_() if source is None else place.copy_(source)


def capture(run: Callable[[], Any], pool: Any) -> tuple[Callable[[], None], Any]:
    """A function that replays ``run``, and the result of ``run``, whose tensors have no values before a replay."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            result = run()
        finally:
            graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph.replay, result


class Memory:
    """What the captured loops share: a pool for what they compute, and the places of inputs and results."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._bytes = torch.empty(0, dtype=torch.uint8, device=device)
        self.pool: Any = torch.cuda.graph_pool_handle() if device.type == "cuda" else None

    def holds(self, tensors: Sequence[Optional]) -> bool:
        """Whether there is room for all of ``tensors``."""
        return _offsets(tensors)[-1] <= len(self._bytes)

    def grow(self, tensors: Sequence[Optional]) -> None:
        """Make room for all of ``tensors``, and a half more; earlier places are lost."""
        self.__init__(self._device)  # type: ignore[misc]
        self._bytes = torch.empty(_offsets(tensors)[-1] * 3 // 2, dtype=torch.uint8, device=self._device)

    def places(self, tensors: Sequence[Optional]) -> list[Optional]:
        """A place for each of ``tensors``, contiguous, in the memory that every loop uses."""
        if not self.holds(tensors):
            raise NoRoom(tensors)
        offsets = _offsets(tensors)
        return [
            None if x is None else self._bytes[offset : offset + x.nbytes].view(x.dtype).view(x.shape)
            for x, offset in zip(tensors, offsets[:-1], strict=True)
        ]


class NoRoom(Exception):
    """The places do not hold these tensors."""

    def __init__(self, tensors: Sequence[Optional]) -> None:
        super().__init__()
        self.tensors = tensors


def _offsets(tensors: Sequence[Optional]) -> list[int]:
    """Where each begins, and where the last ends."""
    offsets = [0]
    for x in tensors:
        offsets.append(offsets[-1] + (0 if x is None else -(-x.nbytes // ALIGNMENT) * ALIGNMENT))
    return offsets


class Use:
    """One forward and backward run of a captured loop."""

    def __init__(self, loops: "Loops", captured: Captured, inputs: Sequence[Optional]) -> None:
        self._loops, self._captured = loops, captured
        self.finished = False
        copy([None if place is None else x for x, place in zip(inputs, captured.inputs, strict=True)], captured.inputs)
        captured.forward()
        self.results = [result.clone() for result in captured.results]

    def backward(self, gradients: Sequence[Optional]) -> list[Optional]:
        """The gradients of the inputs from those of the results."""
        if self._loops.last() is not self:
            raise RuntimeError("another loop was replayed since this one's forward pass")
        copy(gradients, self._captured.incoming)
        self._captured.backward()
        self.finished = True
        return [None if gradient is None else gradient.clone() for gradient in self._captured.outgoing]


class Loops:
    """The captured loops of one device."""

    def __init__(self, device: torch.device) -> None:
        self._memory = Memory(device)
        self._seen: Counter[int] = Counter()  # how often, by the hash of a loop's key: keys are long
        self._captured: dict[Hashable, Captured] = {}
        self._runs = 0
        self._last: Callable[[], Use | None] = lambda: None
        self._failed = False

    def last(self) -> Use | None:
        """Whoever has used the memory last, if it is still there."""
        return self._last()

    def use(self, loop: Loop) -> Use | None:
        """The forward pass of ``loop``, replayed; None if it has to run as usual."""
        last = self.last()
        if self._failed or (last is not None and not last.finished):
            return None
        self._runs += 1
        key = loop.identity()
        captured = self._captured.get(key) or self._another(key, loop)
        if captured is None:
            return None
        captured.last_run = self._runs
        use = Use(self, captured, loop.inputs)
        self._last = weakref.ref(use)
        return use

    def _another(self, key: Hashable, loop: Loop) -> Captured | None:
        """``loop``, captured if it has occurred often enough and there is a place for it."""
        if len(self._seen) > 64 * MOST:
            self._seen.clear()
        self._seen[hash(key)] += 1
        if self._seen[hash(key)] <= AFTER:
            return None
        if len(self._captured) >= MOST:
            rarest = min(self._captured, key=lambda kept: self._captured[kept].last_run)
            if self._runs - self._captured[rarest].last_run <= RARE:
                return None
            del self._captured[rarest]
        captured = self._capture(loop)
        if captured is not None:
            self._captured[key] = captured
        return captured

    def _capture(self, loop: Loop) -> Captured | None:
        try:
            try:
                return Captured(loop, self._memory)
            except NoRoom as wanted:
                self._captured.clear()
                self._memory.grow(wanted.tensors)
                return Captured(loop, self._memory)
        except RuntimeError as error:
            # out of memory, or an operation that cannot be captured: loops are then run without graphs
            log.warning("no CUDA graphs: %s", str(error).splitlines()[0])
            self._captured.clear()
            self._failed = True
            return None


_loops: dict[torch.device, Loops] = {}


def applies(device: torch.device) -> bool:
    """Whether loops on ``device`` are captured."""
    return ENABLED and device.type == "cuda"


def forget() -> None:
    """Give up all captured loops and their memory: the next model has others."""
    _loops.clear()


def use(loop: Loop, device: torch.device) -> Use | None:
    """The forward pass of ``loop`` on ``device``, replayed; None if it has to run as usual."""
    if not applies(device):
        return None
    return _loops.setdefault(device, Loops(device)).use(loop)
