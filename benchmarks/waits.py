"""Where a training on a GPU waits for it, and how long the GPU works in a step. Trains as src/train.py does:

    python benchmarks/waits.py hardware=gpu_bf16 experiment=multi30k data.root=DIR trainer.max_steps=1200 [...]

In steps 1,000 to 1,099 every place in our code, Lightning's or torch's where the program waits for a value of the GPU
is counted; nothing but the loggers, once in trainer.log_every_n_steps, should be among them. After that, 20 steps are
profiled: the seconds that the GPU computes in a step, and those that a step takes without profiling.
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
from unrolled.training.callbacks.speed import Speed

WATCHED, TIMED, PROFILED = range(1000, 1100), range(1100, 1150), range(1150, 1170)
"""Steps: late enough for every common shape of a batch to have been captured."""


class Observer:
    """Told of every step."""

    def __init__(self) -> None:
        self.places: Counter[str] = Counter()
        self.seconds = 0.0
        self.by_kernel: dict[str, float] = {}
        self._profile = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        self._began = 0.0

    def step(self, number: int) -> None:
        """Step ``number`` has ended."""
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
            events = self._profile.key_averages()
            self.by_kernel = {e.key: e.self_device_time_total / 1e6 for e in events if e.self_device_time_total > 0}

    def _warned(self, message: Any, *_: Any, **__: Any) -> None:
        if "synchroniz" in str(message):
            frames = [f for f in traceback.extract_stack()[:-1] if not f.filename.endswith("warnings.py")]
            last = frames[-1]
            caller = next((f for f in reversed(frames) if "unrolled" in f.filename), last)
            self.places[f"{_short(last.filename)}:{last.lineno}, from {_short(caller.filename)}:{caller.lineno}"] += 1

    def report(self) -> str:
        """As the module's docstring says."""
        lines = [f"waits in {len(WATCHED)} steps: {sum(self.places.values())}"]
        lines += [f"  {count} x {place}" for place, count in self.places.most_common()]
        busy = sum(self.by_kernel.values()) / len(PROFILED)
        lines.append(f"a step takes {1000 * self.seconds:.2f} ms, of which the GPU computes {1000 * busy:.2f} ms")
        ordered = sorted(self.by_kernel.items(), key=lambda pair: -pair[1])[:8]
        lines += [f"  {1000 * seconds / len(PROFILED):.2f} ms {name[:90]}" for name, seconds in ordered]
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
    try:
        train.main()
    finally:
        print(observer.report(), flush=True)


if __name__ == "__main__":
    main()
