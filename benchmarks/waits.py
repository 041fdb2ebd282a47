"""Where a training on a GPU waits for it, and how long the GPU works in a step. Trains as src/train.py does:

    python benchmarks/waits.py hardware=gpu_bf16 experiment=multi30k data.root=DIR trainer.max_steps=1200 [...]

In steps 1,000 to 1,099 every place in our code, Lightning's or torch's where the program waits for a value of the GPU
is counted; nothing but the loggers, once in trainer.log_every_n_steps, should be among them. The next 50 are timed, and
10 more are profiled: how long the GPU computes in a step. Loops are captured as CUDA graphs throughout, also timed.
"""

import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning
import torch
from torch.profiler import ProfilerActivity, profile

from unrolled.commands import train
from unrolled.models.fast.cuda_graphs import Captured
from unrolled.training.callbacks.speed import Speed

WATCHED, TIMED, PROFILED = range(1000, 1100), range(1100, 1150), range(1150, 1160)
"""Steps: late enough for every common shape of a batch to have been captured."""

CAPTURED = Captured.__init__


class Observer:
    """Told of every step."""

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()
        self.seconds = 0.0
        self.by_kernel: dict[str, list[float]] = {}
        self.captures: list[float] = []
        """Seconds, in all steps."""
        self._profile = profile(activities=[ProfilerActivity.CUDA])
        self._began = 0.0
        self._last = 0

    def step(self, number: int) -> None:
        """Step ``number`` has ended."""
        self._last = number
        cuda = torch.cuda.is_available()
        if number == WATCHED.start and cuda:
            warnings.showwarning = self._warned  # type: ignore[assignment]
            torch.cuda.set_sync_debug_mode("warn")
        if number in WATCHED:
            warnings.simplefilter("always")  # a warning that is shown once a place would not be counted
        if number == WATCHED.stop and cuda:
            torch.cuda.set_sync_debug_mode("default")
        if number in (TIMED.start, TIMED.stop):
            if cuda:
                torch.cuda.synchronize()
            self.seconds = (time.perf_counter() - self._began) / len(TIMED)
            self._began = time.perf_counter()
        if number == PROFILED.start:
            self._profile.start()
        if number == PROFILED.stop:
            self._profile.stop()
            for event in self._profile.profiler.kineto_results.events():
                if "CUDA" in str(event.device_type()):
                    self.by_kernel.setdefault(event.name(), []).append(event.duration_ns() / 1e9)

    def captured(self, *arguments: Any) -> None:
        """Instead of Captured.__init__."""
        began = time.perf_counter()
        CAPTURED(*arguments)
        self.captures.append(time.perf_counter() - began)

    def _warned(self, message: Any, *_: Any, **__: Any) -> None:
        if "synchroniz" in str(message):
            frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_stack(sys._getframe())]
            frames = [place for place in frames if place[0] != __file__ and not place[0].endswith("warnings.py")]
            caller = next((place for place in frames if "unrolled" in place[0]), frames[0])
            last = frames[0]
            self.places[f"{_short(last[0])}:{last[1]}, from {_short(caller[0])}:{caller[1]}"] += 1

    def report(self) -> str:
        """As the module's docstring says."""
        if self._last < PROFILED.stop:
            return f"waits in no step: it ended after {self._last} of {PROFILED.stop}; give trainer.max_steps more"
        lines = [f"waits in {len(WATCHED)} steps: {sum(self.places.values())}"]
        lines += [f"  {count} x {place}" for place, count in self.places.most_common()]
        ordered = sorted(((sum(every), len(every), name) for name, every in self.by_kernel.items()), reverse=True)
        busy = 1000 * sum(seconds for seconds, *_ in ordered) / len(PROFILED)
        operations = sum(number for _, number, _ in ordered) / len(PROFILED)
        lines.append(
            f"a step takes {1000 * self.seconds:.2f} ms, "
            f"of which the GPU computes {busy:.2f} ms in {operations:.0f} operations"
        )
        lines += [
            f"  {1000 * seconds / len(PROFILED):.2f} ms in {number / len(PROFILED):.0f} x {name[:90]}"
            for seconds, number, name in ordered[:10]
        ]
        if self.captures:
            mean = 1000 * sum(self.captures) / len(self.captures)
            lines.append(f"captured {len(self.captures)} loops, {mean:.0f} ms each")
        return "\n".join(lines)


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-3:])


def main() -> None:
    """As the module's docstring says."""
    observer, ended = Observer(), Speed.on_train_batch_end

    def observed(self: Speed, trainer: Any, *others: Any) -> None:
        ended(self, trainer, *others)
        observer.step(trainer.global_step)

    Speed.on_train_batch_end = observed  # type: ignore[method-assign, assignment]
    Captured.__init__ = lambda *arguments: observer.captured(*arguments)  # type: ignore[method-assign]
    try:
        train.main()
    finally:
        print(observer.report(), flush=True)


if __name__ == "__main__":
    main()
