"""How long commands take to start, in this source tree and in another, and what train.py does before its first step.

    git worktree add ../before b94e679
    python benchmarks/startup.py --against ../before [--rounds 5] [--commands train translate]
    python benchmarks/startup.py [model=cgru attention=gru_att ...]

With --against: every command does something tiny, to its end, in a process of its own, the two trees by turns; printed
are medians of seconds from start to end, of seconds to import the command, and the modules imported at the end.

Without it, arguments are those of src/train.py. A first run fills the cache; then medians of several processes are
printed, by the clock and of the CPU, for all parts in the order in which src/train.py goes through them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from paths import existing

ROOT = Path(__file__).resolve().parents[1]
TIMES = 5


def child(overrides: list[str]) -> None:
    """Train as src/train.py does; print the seconds of every part up to the end of the first step."""
    parts = {"python": (time.time() - process_start(), time.process_time())}
    last = time.perf_counter(), time.process_time()

    def end(phase: str) -> None:
        nonlocal last
        now = time.perf_counter(), time.process_time()
        parts[phase], last = (now[0] - last[0], now[1] - last[1]), now

    sys.path.insert(0, str(ROOT / "src"))
    from unrolled.training.collector import rest

    rest()  # as the door src/train.py does
    import torch  # noqa: F401

    end("import torch")
    import unrolled.training.lean_lightning  # noqa: F401, I001
    import lightning

    end("import lightning")
    sys.argv = [str(ROOT / "src/train.py"), *overrides]
    import unrolled.api.training_job as job
    import unrolled.commands.train as command

    end("import unrolled and hydra")
    train_in, build_module, build_trainer = job.train_in, job.build_module, job.build_trainer

    class FirstStep(lightning.Callback):
        def on_train_start(self, trainer: object, module: object) -> None:
            end("trainer")

        def on_train_batch_end(self, *_: object) -> None:
            end("first step")

    def configured(*arguments: object, **options: object) -> object:
        end("configuration")
        return train_in(*arguments, **options)

    def with_data(*arguments: object) -> object:
        end("data")
        module = build_module(*arguments)
        end("model")
        return module

    def watched(*arguments: object, **options: object) -> object:
        trainer = build_trainer(*arguments, **options)
        trainer.callbacks.append(FirstStep())
        return trainer

    command.train_in, job.build_module, job.build_trainer = configured, with_data, watched
    command.main()
    print(json.dumps(parts))


def process_start() -> float:
    """When this process began, in seconds since the epoch (Linux)."""
    ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


TINY = [f"data.grammar.{option}" for option in ("pairs=200", "validation_pairs=12", "test_pairs=11")]
TINY += ["model.embedding_size=8", "trainer.max_steps=1", "logger=csv"]
TRAINED = {
    "run": ["model=cgru", "attention=gru_att", "model.encoder_size=6", "model.decoder_size=12", *TINY],
    "lm": ["model=rnn_lm", "attention=none", "objective=language_modeling", "model.hidden_size=8", *TINY],
}
TEXT = {"a": "b c", "b": "c d", "nbest": "0 ||| c d ||| logp=-1 ||| -1"}
COMMANDS = {
    "translate": ["run=run"],
    "score": ["run=run", "source=a", "target=b"],
    "sample": ["run=lm", "number=1"],
    "rescore": ["nbest=nbest", "weights={logp: 1}"],
    "look": ["runs=run", "output=page.html"],
    "compare": ["runs=run", "bootstrap=2", "randomization=2", "output=comparison"],
    "align": ["source=a", "target=b"],
    "evaluate": ["run=run", "pictures=0"],
    "train": TRAINED["run"],
    "train, a mistake": ["model.no_such_option=1"],
}
EARLIER = {"look": "inspect"}
"""What a command was called before."""
SCRIPT = """
import atexit, json, runpy, sys, time
start = time.perf_counter()
path, sys.argv = sys.argv[1], sys.argv[1:]
own = path.rpartition("/")[0]
sys.path[:] = [own, *(place for place in sys.path if not place.endswith("/src"))]  # not the tree that is installed
runpy.run_path(path, run_name="not main")
seconds = time.perf_counter() - start
atexit.register(lambda: print("\\n" + json.dumps([seconds, len(sys.modules)]), file=sys.stderr))
runpy.run_path(path, run_name="__main__")
"""


def compare(before: Path, rounds: int, commands: Iterable[str] = COMMANDS) -> None:
    """Print the table of both trees."""
    with tempfile.TemporaryDirectory() as name:
        folders = {before: Path(name, "before"), ROOT: Path(name, "now")}  # each tree with runs and a cache of its own
        for tree, folder in folders.items():
            folder.mkdir()
            for run, options in TRAINED.items():
                started(tree, "train", [*options, f"hydra.run.dir={run}"], folder)
            for file, line in TEXT.items():
                (folder / file).write_text(f"{line}\n", encoding="utf-8")
        print("| command | before: s | import s | modules | now: s | import s | modules | now / before |")
        print("| --- " + "| ---: " * 7 + "|")
        for command in commands:
            script, _, mistake = command.partition(",")
            taken: list[list[tuple[float, float, int]]] = [[], []]
            for number in range(rounds + 1):
                for (tree, folder), times in zip(folders.items(), taken, strict=True):
                    fresh = [f"hydra.run.dir=again/{number}"] if command == "train" else []
                    once = started(tree, script, [*COMMANDS[command], *fresh], folder, status=2 if mistake else 0)
                    if number:  # the first fills caches of both
                        times.append(once)
            sides = [[statistics.median(column) for column in zip(*times, strict=True)] for times in taken]
            ratio = statistics.median(after[0] / b[0] for b, after in zip(*taken, strict=True))
            shown = " | ".join(f"{total:.2f} | {imports:.2f} | {modules:,.0f}" for total, imports, modules in sides)
            print(f"| {command} | {shown} | {ratio:.2f} |", flush=True)


def started(tree: Path, command: str, options: list[str], folder: Path, status: int = 0) -> tuple[float, float, int]:
    """Seconds of the whole process, seconds of the import, modules at the end."""
    script = tree / "src" / f"{command}.py"
    if not script.exists():
        script = script.with_name(f"{EARLIER[command]}.py")
    environment = os.environ | {"UNROLLED_CACHE": str(folder / "cache")}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(script), *options],
        cwd=folder,
        env=environment,
        input="b c\n",
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - begin
    if done.returncode != status:
        sys.exit(done.stderr)
    imports, modules = json.loads(done.stderr.splitlines()[-1])
    return seconds, imports, modules


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--against"]:
        parser = argparse.ArgumentParser()
        parser.add_argument("--against", type=existing, required=True)
        parser.add_argument("--rounds", type=int, default=5)
        parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=[*COMMANDS])
        chosen = parser.parse_args()
        compare(chosen.against.resolve(), chosen.rounds, chosen.commands)
        return
    if {"-h", "--help"} & {*sys.argv[1:]}:
        print(__doc__)
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(TIMES + 1):
            options = [f"hydra.run.dir={folder}/{number}", "trainer.max_steps=1", "trainer.limit_val_batches=1"]
            command = [sys.executable, __file__, "--child", *sys.argv[1:], *options]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    runs = runs[1:]
    print("| part | seconds | CPU seconds |\n| --- | ---: | ---: |")
    for phase in runs[0]:
        print(
            f"| {phase} | "
            + " | ".join(f"{statistics.median(run[phase][n] for run in runs):.2f}" for n in (0, 1))
            + " |"
        )
    total = (statistics.median(sum(phase[n] for phase in run.values()) for run in runs) for n in (0, 1))
    print("| all | " + " | ".join(f"{seconds:.2f}" for seconds in total) + " |")


if __name__ == "__main__":
    main()
