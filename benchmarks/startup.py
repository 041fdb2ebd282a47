"""From the command to the first training step, by part, with what the cache holds already.

    python benchmarks/startup.py [model=cgru attention=gru_att ...]

Arguments are those of src/train.py. A first run fills the cache; then the median of several processes is printed, for
all parts in the order in which src/train.py goes through them.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = 5


def child(overrides: list[str]) -> None:
    """Go through what src/train.py does up to its first step; print the seconds of every part."""
    parts: dict[str, float] = {"python": time.time() - process_start()}
    last = time.perf_counter()

    def end(part: str) -> None:
        nonlocal last
        now = time.perf_counter()
        parts[part], last = now - last, now

    import torch  # noqa: F401

    end("import torch")
    import lightning

    end("import lightning")
    sys.path.insert(0, str(ROOT / "src"))
    sys.argv = [str(ROOT / "src/train.py"), *overrides]
    import train  # noqa: F401

    end("import unrolled and hydra")
    from unrolled.configuration.build import build_data, build_module, build_trainer
    from unrolled.configuration.command import command

    class FirstStep(lightning.Callback):
        def on_train_start(self, trainer: object, module: object) -> None:
            end("trainer")

        def on_train_batch_end(self, *_: object) -> None:
            end("first step")

    @command("train")
    def main(config: object) -> None:
        end("configuration")
        lightning.seed_everything(config.seed, verbose=False)
        data = build_data(config)
        data.prepare_data()
        data.setup()
        end("data")
        module = build_module(config, data)
        end("model")
        trainer = build_trainer(config)
        trainer.callbacks.append(FirstStep())
        trainer.fit(module, datamodule=data)

    main()
    print(json.dumps(parts))


def process_start() -> float:
    """When this process began, in seconds since the epoch (Linux)."""
    import os

    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(TIMES + 1):
            options = [f"hydra.run.dir={folder}/{number}", "trainer.max_steps=1", "trainer.limit_val_batches=0"]
            command = [sys.executable, __file__, "--child", *sys.argv[1:], *options]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    runs = runs[1:]
    total = statistics.median(sum(run.values()) for run in runs)
    print("| part | seconds |\n| --- | ---: |")
    for part in runs[0]:
        print(f"| {part} | {statistics.median(run[part] for run in runs):.2f} |")
    print(f"| all | {total:.2f} |")


if __name__ == "__main__":
    main()
