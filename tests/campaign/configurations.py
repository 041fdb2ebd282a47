"""Mistaken configurations: numbers out of range, unknown names, wrong types, bad paths.

python tests/campaign/configurations.py [seed]

tries all of them and counts them in a table; its status is 1 where one was not refused with one line and status 2.

The suite tries some of each kind: tests/campaign/test_configurations.py.
"""

import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2] / "src")]

import yaml
from support.scripts import ROOT, TINY, TINY_MODEL, call_script

from unrolled.configuration.ranges import OPTIONS

CONF = ROOT / "conf"
SHORT = ["trainer.max_steps=1", "trainer.limit_val_batches=1", "trainer.limit_test_batches=1", "logger=csv"]
SHORT += ["hydra.run.dir=run", "~callbacks.pictures", "~callbacks.attention_record"]
NEEDS = {  # what else a choice needs
    "model=cgru": TINY_MODEL,
    "model=ngram_lm": ["~trainer.gradient_clip_val", "+trainer.gradient_clip_val=null"],
    "data=multi30k": ["data.root=."],
    "data=wikitext2": ["data.root=.", "model=rnn_lm"],
    "data=monolingual_text": ["data.train=a.txt", "data.val=a.txt", "data.test=a.txt", "model=rnn_lm"],
    "data=parallel_text": ["data.train=[a.txt,a.txt]", "data.val=[a.txt,a.txt]", "data.test=[a.txt,a.txt]"],
}
NOT_TRIED = {"hydra", "experiment", "debug", "detail", "ensemble", "hardware"}  # they write out no option of their own
NUMBERS = [
    "abc",
    "nan",
    "inf",
    "-inf",
    "true",
    "null",
    "''",
    "[1]",
    "{a: 1}",
    "-1",
    "0",
    "0.5",
    "1e400",
    "99999999999999999999",
]
PATIENCE = 120  # seconds: a case that has not ended by then never will
SOMEWHERE = ["null", "-1", "0", "0.5"]  # what may be right for an option whose range its class knows
SWITCHES = ["7", "0.5", "maybe", "[true]", "{a: 1}"]


class Case(NamedTuple):
    """A command line with one mistake in it, and the kind of that mistake."""

    kind: str
    script: str
    arguments: list[str]


def leaves(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """(path, value) of every value below a node of YAML."""
    if not isinstance(node, dict):
        yield path, node
        return
    for key, value in node.items():
        if key not in ("_target_", "_partial_", "defaults", "hydra", "imported"):
            yield from leaves(value, f"{path}.{key}" if path else key)


def options() -> Iterator[tuple[str, list[str], str, Any]]:
    """(script, choices, path, default) of every option that a file of conf/ writes out."""
    for file in sorted(CONF.rglob("*.yaml")):
        *group, _ = file.relative_to(CONF).parts
        written = file
        if group and group[0] in NOT_TRIED:
            continue
        if group[-1:] == ["base"]:  # what several choices share
            group, file = group[:-1], file.with_name("cgru.yaml")
        choice = f"{'/'.join(group)}={file.stem}"
        script = "train.py" if group else f"{file.stem}.py"
        if choice == "search=sampling":
            script = "translate.py"
        if choice.startswith("alignment/"):
            continue
        chosen = [choice, *NEEDS.get(choice, [])] if group else []
        if group[:1] == ["model"] and len(group) == 2:
            chosen = ["model=ngram_lm", choice]
        path = {"trainer": "trainer"}.get(group[0] if group else "", ".".join(group))
        tree = yaml.safe_load(written.read_text(encoding="utf-8")) or {}
        if choice == "objective=counting":
            continue
        for option, value in leaves(tree, path):
            yield script, chosen, option, value


def out_of_range() -> Iterator[Case]:
    """Numbers and switches with values that are none, or not theirs."""
    seen = set()
    for script, chosen, path, default in options():
        command = f"{script.removesuffix('.py')} {path}"
        allowed = OPTIONS.get(command, OPTIONS.get(path))
        if (script, path) in seen or not isinstance(default, int | float):
            continue
        seen.add((script, path))
        for value in SWITCHES if isinstance(default, bool) else NUMBERS:
            meant = yaml.safe_load(value) if value != "1e400" else float("inf")
            if value in ("nan", "inf", "-inf"):
                meant = float(value)
            if path in ("rank", "trainer.devices") or (allowed is None and value in SOMEWHERE):
                continue
            if allowed is None or not isinstance(meant, int | float | None) or meant not in allowed:
                yield Case("switch" if isinstance(default, bool) else "number", script, [*chosen, f"{path}={value}"])


def of_lightning() -> Iterator[Case]:
    """Arguments of Lightning's Trainer that no file of conf/ has."""
    for name in ("fast_dev_run", "barebones", "inference_mode", "sync_batchnorm", "enable_checkpointing"):
        for value in [*SWITCHES, "false" if name == "enable_checkpointing" else "-1"]:
            yield Case("switch", "train.py", [f"+trainer.{name}={value}"])
    for value in ("abc", "5", "00:00:00:00", "-1:00:00:00", "99999999999:00:00:00", "1.5", "true", "[1]", "{hours: 1}"):
        yield Case("number", "train.py", [f"trainer.max_time={value}"])


def unknown_names() -> Iterator[Case]:
    """Choices and options that there are not."""
    groups = sorted({file.parent for file in CONF.rglob("*.yaml")} - {CONF})
    for folder in groups:
        group = "/".join(folder.relative_to(CONF).parts)
        if group in ("hydra/sweeper", "hydra/launcher", "alignment/distance", "detail", "ensemble"):
            continue
        beside = ["model=ngram_lm"] if group == "model/estimator" else []
        for wrong in ("nonesuch", "''", "../train", "[a,b]", "7"):
            yield Case("choice", "train.py", [*beside, f"{group}={wrong}"])
    for script, chosen, path, _ in options():
        head, _, name = path.rpartition(".")
        yield Case("option", script, [*chosen, f"{head + '.' if head else ''}{name}x=1"])


def wrong_types() -> Iterator[Case]:
    """What is a group, a list or a name, given as something else."""
    for group in (
        "model",
        "attention",
        "data",
        "optimizer",
        "schedule",
        "callbacks",
        "objective",
        "trainer",
        "tokenizer",
    ):
        for value in ("[]", "{a: 1}", "null"):
            yield Case("type", "train.py", [f"{group}={value}"])
    for value in ("3", "null", "abc", "[]", "{a: 1}"):
        for callback in ("checkpoint", "speed", "progress", "saving", "diverged"):
            yield Case("type", "train.py", [f"callbacks.{callback}={value}"])
    for cell in ("7", "null", "[gru]", "GRUU", "true"):
        yield Case("type", "train.py", ["model=rnn_lm", f"model.cell={cell}"])
    for value in ("null", "''", "[1]", "7"):
        yield Case("type", "train.py", [f"cache={value}"])
    for value in ("val/nothing", "7", "null", "[]"):
        yield Case("type", "train.py", [f"objective.monitor={value}"])
    for option in ("attention", "model", "optimizer", "data.module", "data.corpus", "callbacks.checkpoint"):
        yield Case("type", "train.py", [f"{option}._target_=no.such.Class"])
        yield Case("type", "train.py", [f"{option}._target_=7"])


def missing_parts() -> Iterator[Case]:
    """Parts that cannot be left out, and syntax that is none."""
    for part in ("callbacks.speed", "callbacks.checkpoint", "callbacks.validation_in_checkpoint"):
        yield Case("left out", "train.py", [f"~{part}"])
    for part in ("model.embedding_size", "model.orthogonal", "data.module", "data.max_tokens", "seed"):
        yield Case("left out", "train.py", [f"~{part}"])
    # not optimizer.lr, of which PyTorch has a default of its own
    for part in ("objective.monitor", "choices", "trainer", "attention.size", "cache", "run_folder"):
        yield Case("left out", "train.py", [f"~{part}"])
    for text in (
        "seed=${nothing}",
        "seed=${seed}",
        "seed=${oc.env:UNROLLED_NOTHING}",
        "seed=${",
        "seed=[",
        "seed={",
        "=",
        "a b",
    ):
        yield Case("syntax", "train.py", [text])
    for text in (
        "seed=${nosuch:1}",
        "seed",
        "seed==1",
        "~nothing",
        "++",
        "@",
        "model@here=cgru",
        "+seed=1",
    ):
        yield Case("syntax", "train.py", [text])


def bad_paths() -> Iterator[Case]:
    """Files that are not there, or are something else than files."""
    bad = [
        "nowhere.txt",
        ".",
        "fifo",
        "empty.txt",
        "latin1.txt",
        "nul.txt",
        "x" * 256,
        "a.txt/b",
        "short.gz",
        "blank.txt",
        "''",
    ]
    for path in bad:
        for split in ("train", "val", "test"):
            pairs = dict.fromkeys(("train", "val", "test"), "[a.txt,a.txt]") | {split: f"[a.txt,{path}]"}
            if path == "blank.txt" and split != "train":
                continue  # blank lines may be translated
            yield Case(
                "path", "train.py", ["data=parallel_text", *(f"data.{name}={pair}" for name, pair in pairs.items())]
            )
    for path in ["a.txt", "a.txt/b", "/proc/x", "x" * 256, "''"]:
        if path != "''":  # that is the current folder
            yield Case("path", "train.py", [f"hydra.run.dir={path}"])
        yield Case("path", "train.py", [f"cache={path}"])
    for script in (
        "translate.py",
        "score.py",
        "evaluate.py",
        "sample.py",
        "average.py",
        "look.py",
        "compare.py",
        "arpa.py",
    ):
        option = "runs" if script in ("look.py", "compare.py") else "run"
        for path in ["nowhere", "a.txt", ".", "fifo", "x" * 256, "[]", "7", "''", "{a: 1}"]:
            yield Case("path", script, [f"{option}={path}"])
    for option in ("resume", "reproduce"):
        for path in ("nowhere", "a.txt", ".", "fifo", "''", "7", "[]"):
            yield Case("path", "train.py", [f"{option}={path}"])
    for path in bad:
        if path != "blank.txt":
            yield Case("path", "align.py", [f"source={path}", "target=a.txt"])
            yield Case("path", "evaluate.py", [f"alignments={path}", "gold=a.txt"])
            yield Case("path", "rescore.py", [f"nbest={path}"])
            yield Case("path", "arpa.py", [f"file={path}", "to=made"])


def cases(seed: int = 1) -> list[Case]:
    """All of them, each kind in an order that the seed draws."""
    random_order = random.Random(seed)
    made = [*out_of_range(), *of_lightning(), *unknown_names(), *wrong_types(), *missing_parts(), *bad_paths()]
    unique = list({str(case): case for case in made}.values())
    random_order.shuffle(unique)
    return unique


def prepare(folder: Path) -> None:
    """The files that the cases name."""
    (folder / "a.txt").write_text("a b\nc d\n" * 9, encoding="utf-8")
    (folder / "blank.txt").write_text("\n" * 18, encoding="utf-8")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "latin1.txt").write_bytes("schön\n".encode("latin-1") * 18)
    (folder / "nul.txt").write_bytes(b"a\0b\n" * 18)
    (folder / "short.gz").write_bytes(bytes.fromhex("1f8b0800"))
    os.mkfifo(folder / "fifo")


def outcome(case: Case, folder: Path) -> str:
    """What became of a case: ``refused``, as is promised, or what else."""
    more = []
    if case.script == "train.py":
        given = {argument.lstrip("+~").partition("=")[0] for argument in case.arguments}
        small = [] if any(name == "data" for name in given) else TINY
        more = [option for option in [*SHORT, *small] if option.lstrip("~").partition("=")[0] not in given]
        if not given & {"model", "model/estimator"}:
            more += TINY_MODEL
        if "callbacks" in given:
            more = [option for option in more if not option.startswith("~")]
    signal.alarm(PATIENCE)
    try:
        done = call_script(case.script, *more, *case.arguments, cwd=folder)
    except BaseException as problem:
        last = traceback.extract_tb(problem.__traceback__)[-1]
        return f"traceback: {type(problem).__name__}: {str(problem)[:80]!r} ({Path(last.filename).name}:{last.lineno})"
    finally:
        signal.alarm(0)
    if done.status != 2:
        return f"status {done.status}: {done.stderr.strip()[-100:]!r}"
    lines = done.stderr.splitlines()
    if len(lines) != 1 or done.stdout:
        return f"{len(lines)} lines: {done.stderr[:200]!r}"
    return "refused"


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no end after {PATIENCE} seconds")


def main() -> None:
    """Try all of them, and say what became of each kind."""
    signal.signal(signal.SIGALRM, _too_long)
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    found = Counter[str]()
    bad = 0
    for case in cases(seed):
        with tempfile.TemporaryDirectory() as name:
            prepare(Path(name))
            became = outcome(case, Path(name))
        found[case.kind] += 1
        if found.total() % 100 == 0:
            print(f"{found.total()} tried", file=sys.stderr, flush=True)
        if became != "refused":
            bad += 1
            print(f"{case.script} {' '.join(case.arguments)[:120]}: {became}", flush=True)
    print(
        "| kind | tried |", "|---|---|", *(f"| {kind} | {count} |" for kind, count in sorted(found.items())), sep="\n"
    )
    print(f"\n{sum(found.values())} configurations, seed {seed}: {bad} not refused with one line and status 2")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
