"""Validation BLEU over seconds from a cold start: ours and JoeyNMT 2.3, trained on the same text, one thread each.

    python benchmarks/time_to_bleu.py --data DIR --folder OUT --seconds 1800 [--only unrolled] [-- options of train.py]
    python benchmarks/time_to_bleu.py --data DIR --folder OUT --seconds 1800 --only joeynmt --joeynmt PYTHON \
        [--rate 1e-3] [--dropout 0.3] [--sentences 72] [--halve] [-- options of train.py, for the tokenizer]
    python benchmarks/time_to_bleu.py --folder OUT --figure docs/images/time-to-bleu.png

DIR has train, val and test_2016_flickr .en and .de, tokenised. A run is one process in OUT/NAME (--name; the contestant
and, for JoeyNMT, its learning rate). Each of its validations, greedy, becomes a line of OUT/curves.jsonl: seconds since
the process started, its CPU seconds, updates, BLEU over the file's tokens. Then comes test BLEU with a beam of 5, which
no second counts. JoeyNMT runs by its own command, with our sizes and our SentencePiece model (joeynmt_configuration).
Without --seconds nothing is trained: the table of what OUT holds is printed.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from paths import existing

from unrolled.metrics.translation_scores import translation_scores

OURS = ("experiment=multi30k_quick", "model=cgru", "attention=bahdanau", "attention.size=128", "hardware=cpu")
OURS += ("logger=csv", "~callbacks.pictures", "~callbacks.attention_record")
VALIDATION = re.compile(r"epoch (\d+), step (\d+): .*val/bleu ([\d.]+)")
GOALS = (20, 26, 30, 34, 36)  # validation BLEU
# python -m joeynmt, with what it asks newer libraries for and they no longer have
JOEYNMT = """
from joeynmt import builders, tokenizers
Plateau = builders.ReduceLROnPlateau
builders.ReduceLROnPlateau = lambda optimizer, verbose, **options: Plateau(optimizer, **options)
tokenizers.sp.SentencePieceProcessor.SetVocabulary = lambda self, pieces: None  # all of the model's
from joeynmt.__main__ import main
main()
"""


class Tuned(NamedTuple):
    """What is chosen for JoeyNMT; docs/performance-quality.md says how."""

    rate: float = 2e-3
    dropout: float = 0.1
    sentences: int = 36
    """Sentences of a batch; 36 make as many updates an epoch as ours."""
    halve: bool = False
    """Whether the learning rate halves with every epoch, instead of on a plateau."""


class Validation(NamedTuple):
    """What a contestant says of itself."""

    epoch: int
    updates: int
    bleu: float


class Contestant(Protocol):
    """A training in a process of its own."""

    name: str
    command: list[str]

    def validations(self) -> Sequence[Validation]:
        """Those that have ended, in their order."""

    def test_bleu(self) -> float:
        """The test BLEU of the best validation's weights, once the training has ended."""


class Unrolled:
    """src/train.py, cache and all from nothing; it tests at the end."""

    name = "unrolled"
    ends_itself = True

    def __init__(self, data: Path, folder: Path, seconds: float, options: Sequence[str]) -> None:
        self._run = folder / "run"
        self._log = folder / "log"
        days, rest = divmod(round(seconds), 86400)
        places = [f"data.root={data}", f"hydra.run.dir={self._run}", f"cache={folder / 'cache'}"]
        limit = f"trainer.max_time={days:02}:{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
        self.command = [sys.executable, str(ROOT / "src/train.py"), *OURS, *places, limit, *options]

    def validations(self) -> list[Validation]:
        validations = VALIDATION.findall(self._log.read_text(encoding="utf-8"))
        return [Validation(int(epoch), int(updates), float(bleu)) for epoch, updates, bleu in validations]

    def test_bleu(self) -> float:
        return json.loads((self._run / "results.json").read_text(encoding="utf-8"))["test/bleu"]


class JoeyNMT:
    """Its own command in its own environment; it is stopped when its time is over."""

    name = "joeynmt"
    ends_itself = False

    def __init__(self, data: Path, folder: Path, python: str, tuned: Tuned, options: Sequence[str]) -> None:
        import yaml

        self._data, self._folder, self._python, self._batch = data, folder, python, tuned.sentences
        self._references = lines_of(data / "val.de")
        self._sentences = len(lines_of(data / "train.de"))
        self._known: dict[int, Validation] = {}
        model = sentencepiece_model(data, folder / "cache", options)
        self._configuration = joeynmt_configuration(data, folder, model, self._sentences, tuned)
        (folder / "train.yaml").write_text(yaml.safe_dump(self._configuration), encoding="utf-8")
        self.command = [python, "-c", JOEYNMT, "train", str(folder / "train.yaml"), "--skip-test"]

    def validations(self) -> list[Validation]:
        """The hypotheses that it wrote, scored as ours are."""
        for path in (self._folder / "model").glob("*.hyps"):
            updates = int(path.stem)
            hypotheses = lines_of(path)
            if updates not in self._known and len(hypotheses) == len(self._references):
                bleu = translation_scores(hypotheses, self._references, tokenize="none").bleu
                self._known[updates] = Validation(1 + updates * self._batch // self._sentences, updates, bleu)
        return [self._known[updates] for updates in sorted(self._known)]

    def test_bleu(self) -> float:
        import yaml

        testing = {"load_model": str(self._folder / "model/best.ckpt"), "batch_size": 64, "beam_size": 5}
        data = {key: value for key, value in self._configuration["data"].items() if key != "dev"}
        data["test"] = str(self._data / "test_2016_flickr")
        configuration = self._configuration | {"data": data, "testing": testing | {"beam_alpha": 1.0}}
        (self._folder / "test.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
        output = self._folder / "translations"
        command = [self._python, "-c", JOEYNMT, "test", str(self._folder / "test.yaml"), "-o", str(output)]
        with (self._folder / "test.log").open("w") as log:
            subprocess.run(command, env=environment(), stdout=log, stderr=log, check=True)
        references = lines_of(self._data / "test_2016_flickr.de")
        return translation_scores(lines_of(Path(f"{output}.test")), references, tokenize="none").bleu


def joeynmt_configuration(data: Path, folder: Path, model: Path, sentences: int, tuned: Tuned) -> dict[str, Any]:
    """Ours' sizes, label smoothing and clipping; input feeding and initial weights as its own examples have.

    Its softmax can share the embeddings of the target only where the decoder is as wide as they are: it has its own.
    """
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    vocabulary = folder / "vocabulary.txt"
    words = [pieces.id_to_piece(number) for number in range(4, pieces.get_piece_size())]
    vocabulary.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    side = {"level": "bpe", "voc_file": str(vocabulary), "tokenizer_type": "sentencepiece"}
    side["tokenizer_cfg"] = {"model_file": str(model)}
    layer = {"type": "recurrent", "rnn_type": "gru", "num_layers": 1, "dropout": tuned.dropout}
    layer["embeddings"] = {"embedding_dim": 256, "dropout": tuned.dropout}
    decoder = {"hidden_size": 320, "attention": "bahdanau", "input_feeding": True, "init_hidden": "bridge"}
    eighth = max(1, sentences // tuned.sentences // 8)  # of an epoch, in updates
    return {
        "name": "time_to_bleu",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "random_seed": 1,
        "data": {
            "train": str(data / "train"),
            "dev": str(data / "val"),
            "dataset_type": "plain",
            "src": {"lang": "en", **side},
            "trg": {"lang": "de", **side},
        },
        "training": {
            "optimizer": "adam",
            "learning_rate_min": 1e-6,
            "early_stopping_metric": "bleu",
            **schedule_of(tuned),
            "normalization": "tokens",
            "label_smoothing": 0.1,
            "clip_grad_norm": 1.0,
            "batch_size": tuned.sentences,
            "batch_type": "sentence",
            "epochs": 1000,
            "logging_freq": eighth,
            "validation_freq": 4 * eighth,
            "keep_best_ckpts": 1,
            "overwrite": False,
            "shuffle": True,
            "print_valid_sents": [],
        },
        "testing": {"batch_size": 64, "beam_size": 1, "eval_metrics": ["bleu"], "sacrebleu_cfg": {"tokenize": "none"}},
        "model": {
            "initializer": "xavier_uniform",
            "bias_initializer": "zeros",
            "embed_initializer": "normal",
            "embed_init_weight": 0.1,
            "init_rnn_orthogonal": True,
            "tied_embeddings": False,
            "tied_softmax": False,
            "encoder": {**layer, "hidden_size": 256, "bidirectional": True},
            "decoder": {**layer, **decoder, "hidden_dropout": tuned.dropout},
        },
    }


def schedule_of(tuned: Tuned) -> dict[str, Any]:
    """JoeyNMT's learning rate, and when it is halved, by its own options."""
    if tuned.halve:  # warmupexponentialdecay would fall with every update, but cannot be built in 2.3.0
        # exponential halves it before the first epoch already
        return {"scheduling": "exponential", "learning_rate": 2 * tuned.rate, "decrease_factor": 0.5}
    # an epoch and a half (three validations) without improvement, and the next one halves the rate
    return {"scheduling": "plateau", "learning_rate": tuned.rate, "decrease_factor": 0.5, "patience": 3}


def sentencepiece_model(data: Path, cache: Path, options: Sequence[str]) -> Path:
    """The model that ours with these options of train.py trains on this text."""
    from unrolled.configuration.build import build_data
    from unrolled.configuration.composition import composed

    places = (f"data.root={data}", f"cache={cache}", f"hydra.run.dir={cache}")
    build_data(composed("train", (*OURS, *places, *options))).prepare_data()
    return next(cache.rglob("sentencepiece.model"))


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def environment() -> dict[str, str]:
    """One thread; freed memory is kept, as ours does by itself: JoeyNMT's updates are 1.2 times as fast so."""
    kept = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), str(2**31 - 1))
    return {**os.environ, **kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def train(contestant: Contestant, folder: Path, seconds: float) -> Iterator[dict[str, Any]]:
    """A line for each validation as it ends, then one with the test."""
    with (folder / "log").open("w") as log:
        start = time.monotonic()
        try:
            process = subprocess.Popen(contestant.command, env=environment(), stdout=log, stderr=log)
        except OSError as problem:
            sys.exit(f"--{contestant.name} {contestant.command[0]}: {problem.strerror}")
    ended, running = 0, True
    try:
        while running:
            spent = {"seconds": round(time.monotonic() - start, 1), "cpu_seconds": round(cpu_seconds(process.pid), 1)}
            running = process.poll() is None
            for validation in contestant.validations()[ended:]:
                yield spent | validation._asdict() | {"load": round(os.getloadavg()[0], 1)}
                ended += 1
            if running and not contestant.ends_itself and spent["seconds"] > seconds:
                process.terminate()
            time.sleep(0.2)
    finally:
        process.kill()
        process.wait()
    if process.returncode not in (0, -signal.SIGTERM):
        last = [line for line in lines_of(folder / "log") if line.strip()]
        sys.exit(f"{folder / 'log'}: {last[-1] if last else 'ended without a word'}")
    if ended:
        yield {"test_bleu": contestant.test_bleu()}


def cpu_seconds(process: int) -> float:
    """The CPU seconds of the process and of its children (Linux)."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it ended
        return 0.0
    ended = sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return ended + sum(cpu_seconds(int(child)) for child in children)


def read(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of each run."""
    path = folder / "curves.jsonl"
    runs: dict[str, list[dict[str, Any]]] = {}
    for line in lines_of(path) if path.exists() else []:
        runs.setdefault(json.loads(line)["run"], []).append(json.loads(line))
    return runs


def curve_of(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if "bleu" in line]


def needed(curve: list[dict[str, Any]], bleu: float, axis: str) -> float | None:
    """Seconds to a validation BLEU, on the straight line between the two validations around it."""
    before = {axis: 0.0, "bleu": 0.0}
    for point in curve:
        if point["bleu"] >= bleu:
            share = (bleu - before["bleu"]) / (point["bleu"] - before["bleu"])
            return before[axis] + share * (point[axis] - before[axis])
        before = point
    return None


def table(runs: dict[str, list[dict[str, Any]]]) -> str:
    """CPU seconds to each of the goals, the clock's in brackets."""
    rows = [f"| run | {' | '.join(f'to {goal}' for goal in GOALS)} | best validation BLEU | after | test BLEU |"]
    rows.append("| --- |" + " ---: |" * (len(GOALS) + 3))
    for name, lines in runs.items():
        if not (curve := curve_of(lines)):
            continue
        cells = []
        for goal in GOALS:
            cpu, clock = (needed(curve, goal, axis) for axis in ("cpu_seconds", "seconds"))
            cells.append("" if cpu is None else f"{cpu:.0f} ({clock:.0f})")
        best = max(curve, key=lambda point: point["bleu"])
        cells += [f"{best['bleu']:.2f}", f"{best['cpu_seconds']:.0f} ({best['seconds']:.0f})"]
        cells += [f"{line['test_bleu']:.2f}" for line in lines if "test_bleu" in line] or [""]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def figure(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Validation BLEU over CPU seconds."""
    from matplotlib import pyplot

    shown, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, lines in runs.items():
        points = [(point["cpu_seconds"] / 60, point["bleu"]) for point in curve_of(lines)]
        axes.plot(*zip((0.0, 0.0), *points, strict=True), marker=".", label=name)
    axes.set_xlabel("CPU minutes since the start of the process")
    axes.set_ylabel("validation BLEU, greedy")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    shown.savefig(path, dpi=110, bbox_inches="tight")


def run(given: argparse.Namespace) -> None:
    for kind in given.only:
        halving = "-halving" if given.halve else ""
        name = given.name or (f"{kind}-{given.rate:g}{halving}" if kind == "joeynmt" else kind)
        folder = (given.folder / name).resolve()
        if folder.exists():
            sys.exit(f"{folder}: a run is there; give this one another name with --name")
        folder.mkdir(parents=True)
        data = given.data.resolve()
        if kind == "joeynmt":
            tuned = Tuned(given.rate, given.dropout, given.sentences, given.halve)
            contestant: Contestant = JoeyNMT(data, folder, given.joeynmt, tuned, given.options)
        else:
            contestant = Unrolled(data, folder, given.seconds, given.options)
        for line in train(contestant, folder, given.seconds):
            with (given.folder / "curves.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": name, "contestant": kind} | line) + "\n")
            print(json.dumps(line), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing, help="the folder of the text")
    parser.add_argument("--folder", type=Path, required=True, help="of the runs and their curves")
    parser.add_argument("--seconds", type=float, help="of the clock, for each contestant")
    parser.add_argument("--only", nargs="+", choices=("unrolled", "joeynmt"), default=["unrolled", "joeynmt"])
    parser.add_argument("--name", help="of the run")
    parser.add_argument("--joeynmt", help="the Python of its environment: see joeynmt-requirements.txt")
    parser.add_argument("--rate", type=float, default=Tuned().rate, help="JoeyNMT's learning rate")
    parser.add_argument("--dropout", type=float, default=Tuned().dropout, help="JoeyNMT's")
    parser.add_argument("--sentences", type=int, default=Tuned().sentences, help="of JoeyNMT's batches")
    parser.add_argument("--halve", action="store_true", help="JoeyNMT's rate every epoch, not on a plateau")
    parser.add_argument("--figure", type=Path, help="a picture of the curves")
    parser.add_argument("options", nargs="*", help="of train.py, after --; JoeyNMT takes the tokenizer")
    given = parser.parse_args()
    if given.seconds:
        if given.data is None or ("joeynmt" in given.only and not given.joeynmt):
            parser.error("to train, --data and, for JoeyNMT, --joeynmt are needed")
        run(given)
    print(table(read(given.folder)))
    if given.figure:
        figure(read(given.folder), given.figure)


if __name__ == "__main__":
    main()
