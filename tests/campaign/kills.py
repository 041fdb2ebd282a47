"""Trainings that are killed again and again, and must come out as if they had not been.

    python -m tests.campaign.kills --kills 1000 --folder DIR [--seed 1] [--settings "NAME;NAME"]

A chain is one training: it is started, killed at a moment that a seed chooses, resumed by the command that a user would
type, killed again, and at last left alone. Then weights, curves, translations and results must equal, byte by byte and
figure by figure, those of the same training without any interruption.

A kill is a signal. SIGKILL comes at once; SIGTERM, SIGINT and SIGUSR2 let training save itself; SLURM sends SIGUSR2,
then SIGTERM, and at last SIGKILL to all processes. It is sent at a random time, or aimed at a phase: some milliseconds
after the process says that it reads data, trains, validates, writes a checkpoint, tests, draws, or writes results.

Every training is a fork of this process, which has imported everything already. DIR/chains.jsonl keeps the chains that
are done, so the same command continues after an interruption; DIR/table.md is the result.
"""

import argparse
import gc
import json
import os
import random
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "src")]

from support.wandb_files import history

TINY = ["data.grammar.pairs=100", "data.grammar.validation_pairs=12", "data.grammar.test_pairs=11"]
TINY += ["data.grammar.max_length=9", "data.grammar.vocabulary_size=40", "data.max_tokens=200"]
TINY += ["model.embedding_size=8", "model.encoder_size=6", "model.decoder_size=12"]
TRAINING = ["trainer.max_epochs=2", "trainer.log_every_n_steps=2", "logger=csv", "schedule=halve_on_plateau"]
TRANSLATOR = [*TINY, *TRAINING, "attention=gru_att", "~callbacks.pictures"]
TEXT = [f"data.{split}=text" for split in ("train", "val", "test")]
STREAM = ["model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7", "model.dropout=0.2", *TRAINING, *TEXT]
STREAM += ["data=monolingual_text", "tokenizer=word", "data.stream=true", "data.stream_rows=9", "data.stream_steps=20"]

SETTINGS: dict[str, list[str]] = {
    "translator, a checkpoint every step": [*TRANSLATOR, "callbacks.saving.steps=1"],
    "translator, a checkpoint every 4 steps": [*TRANSLATOR, "callbacks.saving.steps=4", "model.embedding_dropout=0.2"],
    "translator, figures and attention drawn": [*TRANSLATOR[:-1], "callbacks.saving.steps=2"],
    "gradient accumulation": [
        *[option for option in TRANSLATOR if "halve" not in option],
        *["callbacks.saving.steps=1", "trainer.accumulate_grad_batches=2", "trainer.max_steps=5"],
        "schedule=linear_decay",
        "schedule.steps=5",
    ],
    "known alignments, coverage": [
        *[option for option in TRANSLATOR if not option.startswith("attention=")],
        *["attention=coverage", "alignment=guide", "objective.doubly_stochastic=0.1", "callbacks.saving.steps=3"],
    ],
    "language model, one continuous text": [*STREAM, "callbacks.saving.steps=1", "data.max_tokens=200"],
    "checkpoints by time, no validation": [
        *[option for option in TRANSLATOR if "halve" not in option and "max_epochs" not in option],
        *["callbacks.saving.minutes=0.0005", "trainer.max_steps=9", "trainer.check_val_every_n_epoch=9"],
        "schedule=constant",
    ],
    "W&B, offline": [
        *[option for option in TRANSLATOR if not option.startswith("logger=")],
        *["logger=wandb", "logger.wandb.mode=offline", "callbacks.saving.steps=3", "trainer.log_every_n_steps=1"],
    ],
    "sweep of two jobs": ["-m", *TRANSLATOR, "callbacks.saving.steps=2", "seed=1,2", "sweep.dir=jobs"],
    "two processes": [*TRANSLATOR, "callbacks.saving.steps=2", "hardware=ddp_cpu"],
}
SHARES = {"translator, figures and attention drawn": 0.4, "W&B, offline": 0.15}
SHARES |= {"sweep of two jobs": 0.4, "two processes": 0.04}
"""How often a setting is taken, where that is not 1: W&B starts a program, two processes start two interpreters."""

PHASES = ("data", "fit", "validation", "checkpoint", "test", "figures", "results")
PLACES = {"checkpoints/": "checkpoint", "/cache/": "data", "figures/": "figures", "attention.": "figures"}
PLACES |= {"results.json": "results", "weights.safetensors": "results", "translations/": "results"}
"""What in the path of a file that is opened for writing, or renamed, belongs to which phase."""
SIGNALS = ("SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGUSR2", "SLURM")
GRACE = 0.4
"""Seconds between the signals of SLURM, which are minutes on a cluster, for trainings that take seconds."""
CHANGING = {"run", "train/target_tokens_per_second", "train/seconds", "train/cpu_seconds", "peak_memory_mib"}
LONGEST = 3600
"""Seconds of one training, at most; on a machine that others use a second of work may take minutes."""
LEAST, MOST = 4, 12
"""Kills of one chain that are tried; after them it is left alone."""


class Shot(NamedTuple):
    """A signal, ``delay`` seconds after ``phase`` was said for the ``number``-th time; after the start for None."""

    signal: str
    phase: str | None
    number: int
    delay: float


def warm() -> None:
    """Import what trainings need, and read a configuration, so that forks begin with it."""
    import lightning
    import torch
    from hydra import compose, initialize_config_dir

    import unrolled.commands.train
    import unrolled.configuration.build
    import unrolled.figures.curves
    import unrolled.metrics.translation_scores
    import unrolled.search.settings
    import unrolled.training.callbacks.attention_record
    import unrolled.training.callbacks.pictures
    import unrolled.training.counting
    import unrolled.training.run

    assert lightning
    assert unrolled
    torch.set_num_threads(1)
    with initialize_config_dir(str(Path(__file__).resolve().parents[2] / "conf"), version_base="1.3"):
        compose("train", [*TRANSLATOR, *SETTINGS["known alignments, coverage"][-3:]])
    gc.collect()
    gc.disable()  # a collection in a fork would copy all that was imported
    gc.freeze()


def announce(pipe: int) -> None:
    """Let this process say which phase it enters: a byte into ``pipe`` for each."""
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.trainer import Trainer

    def say(phase: str) -> None:
        os.write(pipe, bytes([PHASES.index(phase)]))

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            path = os.fsdecode(arguments[0])
        elif event == "os.rename":
            path = os.fsdecode(arguments[1])
        else:
            return
        for place, phase in PLACES.items():
            if place in path:
                say(phase)
                return

    class Announce(Callback):
        def on_train_batch_start(self, *_: Any) -> None:
            say("fit")

        def on_validation_batch_start(self, *_: Any) -> None:
            say("validation")

        def on_test_batch_start(self, *_: Any) -> None:
            say("test")

    first = Trainer.__init__

    def with_announcement(self: Any, *arguments: Any, **options: Any) -> None:
        first(self, *arguments, **options)
        self.callbacks.append(Announce())

    Trainer.__init__ = with_announcement  # type: ignore[method-assign]
    sys.addaudithook(audit)


def start(arguments: list[str], folder: Path, pipe: int | None) -> int:
    """Run train.py with ``arguments`` in ``folder``, as a fork of this process; returns its id."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.setpgid(process, process)
        return process
    status = 70
    try:
        log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets background jobs ignore it
        signal.signal(signal.SIGUSR2, lambda *_: None)  # somebody listens to it, as submitit does
        if pipe is not None:
            announce(pipe)
        os.environ |= {"UNROLLED_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        import unrolled.commands.train

        sys.argv = [str(Path(__file__).resolve().parents[2] / "src" / "train.py"), *arguments]
        with chdir(folder):
            unrolled.commands.train.main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def orphans(group: int) -> bool:
    """Whether a process of ``group`` is still alive: those of a run end with the one that started them."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def signals(name: str) -> list[signal.Signals]:
    """What is sent, one after the other."""
    return [signal.SIGUSR2, signal.SIGTERM, signal.SIGKILL] if name == "SLURM" else [signal.Signals[name]]


class Ended(NamedTuple):
    """How a training ended: its status as `os.waitstatus_to_exitcode`, whether it was shot, the phases it said."""

    status: int
    shot: bool
    phases: Counter[str]


def run(arguments: list[str], folder: Path, shot: Shot | None = None) -> Ended:
    """Run train.py to its end, or until it is shot."""
    reading, writing = os.pipe()
    process = start(arguments, folder, writing)
    os.close(writing)
    fired = False
    volley = [] if shot is None else signals(shot.signal)
    began, counts = time.monotonic(), Counter[str]()
    due = None if shot is None or shot.phase is not None else began + shot.delay
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            os.close(reading)
            while orphans(process):
                if time.monotonic() - began > LONGEST:
                    os.killpg(process, signal.SIGKILL)
                    raise TimeoutError(f"{folder}: {arguments} left processes behind after {shot}")
                time.sleep(0.05)
            return Ended(os.waitstatus_to_exitcode(status), fired, counts)
        if select.select([reading], [], [], 0.002)[0]:
            for byte in os.read(reading, 4096):
                counts[PHASES[byte]] += 1
            if shot is not None and shot.phase and due is None and counts[shot.phase] >= shot.number:
                due = time.monotonic() + shot.delay
        if shot is not None and volley and due is not None and time.monotonic() >= due:
            sign = volley.pop(0)
            (os.killpg if shot.signal == "SLURM" and sign == signal.SIGKILL else os.kill)(process, sign)
            fired, due = True, due + GRACE
        if time.monotonic() - began > LONGEST:
            os.killpg(process, signal.SIGKILL)
            raise TimeoutError(f"{folder}: {arguments} has not ended in {LONGEST} s after {shot}")


class Whole(NamedTuple):
    """A training without interruptions: what came out, how long it took, and how often it said each phase."""

    outcome: dict[str, Any]
    seconds: float
    phases: Counter[str]


def shots(draw: random.Random, whole: Whole) -> Iterator[Shot]:
    """The kills of one chain: at any time, or aimed at phases, mostly in the order of the phases."""
    phases: list[str | None] = [phase for phase in PHASES if whole.phases[phase]]
    aims = draw.choices([*phases, None], k=draw.randint(LEAST, MOST))
    if draw.random() < 0.8:  # else few would hit the first phases, which are over when a later one has been hit
        aims.sort(key=lambda phase: (phase is None, PHASES.index(phase or "data")))
    for done, phase in enumerate(aims):
        how = draw.choice(SIGNALS)
        if how == "SIGUSR2" and phase not in ("fit", "validation", "checkpoint"):  # nothing listens to it yet, or still
            how = "SLURM"
        if phase is None:
            yield Shot(how, None, 0, draw.uniform(0, 0.8 * whole.seconds))
        else:
            # early ones, as each resumed training says fewer
            number = min(draw.randint(1, whole.phases[phase]) for _ in range(3 + done))
            yield Shot(how, phase, number, draw.expovariate(1 / 0.005))


def prepare(folder: Path) -> None:
    """An empty folder with the text that language models read."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = random.Random(5)
    lines = (" ".join(f"w{int(words.paretovariate(1)) % 60}" for _ in range(words.randint(3, 12))) for _ in range(120))
    (folder / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def command(setting: str, folder: Path) -> list[str]:
    """What a user types to begin, or to take up, the training of ``setting`` in ``folder``."""
    options = SETTINGS[setting]
    if "-m" in options:
        return options
    return ["resume=run"] if (folder / "run" / "config.yaml").is_file() else [*options, "hydra.run.dir=run"]


def outcome(folder: Path) -> dict[str, Any]:
    """What must not depend on interruptions: of every run folder the bytes of its files, and its figures."""
    found: dict[str, Any] = {}
    for results in sorted(folder.glob("run/results.json")) + sorted(folder.glob("jobs/*/results.json")):
        for path in sorted(results.parent.rglob("*")):
            name = str(path.relative_to(folder))
            if path.name in ("metrics.csv", "weights.safetensors") or "translations/" in name or "tokenizer/" in name:
                found[name] = path.read_bytes() if path.is_file() else None
        figures = json.loads(results.read_text(encoding="utf-8"))
        found[str(results.relative_to(folder))] = {k: v for k, v in figures.items() if k not in CHANGING}
        hidden = [str(path.relative_to(folder)) for path in results.parent.rglob(".*") if path.name != ".lock"]
        found[f"W&B of {results.parent.name}"] = wandb_rows(results.parent)
        found[f"leftovers of {results.parent.name}"] = hidden
    return found


def wandb_rows(folder: Path) -> list[str]:
    """The figures that `wandb sync` would send of a run, piece by piece: none twice, none missing."""
    rows = [row for piece in folder.glob("wandb/offline-run-*/*.wandb") for row in history(piece)]
    kept = [{name for name in row if not name.startswith("_")} - CHANGING for row in rows]
    figures = [{name: row[name] for name in names} for row, names in zip(rows, kept, strict=True) if names]
    return sorted(
        json.dumps(row, sort_keys=True) for row in figures if not any(isinstance(v, dict) for v in row.values())
    )


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The names of what is not the same."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def chain(setting: str, seed: int, folder: Path, whole: Whole) -> dict[str, Any]:
    """One training, killed as ``seed`` says: the kills that hit it, and what came out differently."""
    prepare(folder)
    hits, problems, ended = [], [], False
    for shot in shots(random.Random(seed), whole):
        status, fired, _ = run(command(setting, folder), folder, shot)
        if fired and status != 0:
            hits.append([shot.signal, shot.phase or "any"])
        if status not in (0, 130, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGUSR2, 143):
            problems.append(f"status {status} after {shot}")
        if ended := status == 0:
            break
    if not ended:
        status = run(command(setting, folder), folder).status
        if status != 0:
            problems.append(f"status {status} at the end")
    problems += differences(whole.outcome, outcome(folder))
    if not problems:
        shutil.rmtree(folder)
    return {"setting": setting, "seed": seed, "hits": hits, "problems": problems}


def uninterrupted(setting: str, folder: Path) -> Whole:
    """The training of ``setting``, left alone."""
    prepare(folder)
    began = time.monotonic()
    status, _, phases = run(command(setting, folder), folder)
    assert status == 0, (folder / "log").read_text(encoding="utf-8")[-3000:]
    return Whole(outcome(folder), time.monotonic() - began, phases)


def table(chains: list[dict[str, Any]]) -> str:
    """Chains as Markdown: kills by setting, by phase and by signal, and how many chains came out differently."""
    lines = ["| training | chains | kills | most in one chain | chains that differ |", "|---|---|---|---|---|"]
    for setting in SETTINGS:
        of_setting = [entry for entry in chains if entry["setting"] == setting]
        kills = [len(entry["hits"]) for entry in of_setting]
        different = sum(bool(entry["problems"]) for entry in of_setting)
        lines.append(f"| {setting} | {len(kills)} | {sum(kills)} | {max(kills, default=0)} | {different} |")
    kills = [len(entry["hits"]) for entry in chains]
    different = sum(bool(entry["problems"]) for entry in chains)
    lines.append(f"| **all** | {len(kills)} | {sum(kills)} | {max(kills, default=0)} | {different} |")
    hits = [hit for entry in chains for hit in entry["hits"]]
    for place, title in ((1, "aimed at"), (0, "signal")):
        counts = Counter(hit[place] for hit in hits)
        lines += [
            "",
            f"Kills by {title}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()) + ".",
        ]
    return "\n".join(lines) + "\n"


def campaign(folder: Path, *, kills: int, seed: int, settings: list[str]) -> list[dict[str, Any]]:
    """Chains until ``kills`` have hit; those of an earlier call in ``folder`` count."""
    warm()
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / "chains.jsonl"
    chains = [json.loads(line) for line in record.read_text().splitlines()] if record.is_file() else []
    wholes: dict[str, Whole] = {}
    draw = random.Random(seed)
    while sum(len(entry["hits"]) for entry in chains) < kills or len(chains) < len(settings):
        number = len(chains)
        draw.seed(f"{seed}/{number}")
        shares = [SHARES.get(setting, 1.0) for setting in settings]
        setting = settings[number] if number < len(settings) else draw.choices(settings, shares)[0]
        if setting not in wholes:
            wholes[setting] = uninterrupted(setting, folder / "whole")
        entry = chain(setting, draw.getrandbits(32), folder / f"chain-{number}", wholes[setting])
        chains.append(entry)
        with record.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        (folder / "table.md").write_text(table(chains), encoding="utf-8")
        print(number, setting, len(entry["hits"]), entry["problems"] or "", flush=True)
    return chains


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many signals must have hit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder", type=Path, required=True, help="where chains are kept; a folder used before resumes"
    )
    parser.add_argument("--settings", default="", help=f"some of: {'; '.join(SETTINGS)}")
    given = parser.parse_args()
    settings = [name for name in SETTINGS if not given.settings or name in given.settings.split(";")]
    chains = campaign(given.folder.resolve(), kills=given.kills, seed=given.seed, settings=settings)
    print(table(chains))
    sys.exit(any(entry["problems"] for entry in chains))


if __name__ == "__main__":
    main()
