"""Damaged and hostile run folders, seeded and counted: every command says one line about each, and runs nothing.

    python -m tests.campaign.damage [cases] [seed]

makes a run of each kind (a translator, a neural and an n-gram language model), damages a copy of its folder in one
way, and gives it to one command that reads it. What may happen: status 0 (the damage is none to this command), or
status 2 with one line on stderr that names the file or the run. What may not: a traceback, another status, more lines,
a command that does not end, a file that a hostile target would have left, translations by another model.
"""

import base64
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import yaml
from safetensors.torch import load_file, save_file
from support.scripts import TINY, TINY_MODEL, call_script, train

from campaign.targets import MARK, prepare, targets

SECONDS = 60  # after which a command is said to hang
SHORT = 48  # cases of the short form
LONG = 400


class Broken(Exception):
    """What no run folder may lead to."""


# Runs

SMALL = [*TINY, "data.grammar.pairs=100", "trainer.max_epochs=1", "logger=csv", "~callbacks.pictures"]
KINDS = {
    "translator": [*SMALL, *TINY_MODEL, "attention=gru_att"],
    "subwords": [*SMALL, *TINY_MODEL, "tokenizer=bpe", "tokenizer.size=60", "~callbacks.attention_record"],
    "neural": [*SMALL, "model=rnn_lm", "model.embedding_size=8", "model.hidden_size=7", "~callbacks.attention_record"],
    "ngram": [*TINY, "model=ngram_lm", "logger=csv", "~callbacks.pictures"],
}
MODEL = ["config.yaml", "weights.safetensors", "tokenizer/*/*", "provenance.json", "checkpoints/best.ckpt"]
RESUMED = ["config.yaml", "results.json", "provenance.json", "checkpoints/last.ckpt", "checkpoints/best.ckpt"]
RESUMED += ["metrics.csv", "checkpoints/kept/kept.json", "attention.jsonl"]
AVERAGED = ["config.yaml", "checkpoints/kept/kept.json", "checkpoints/kept/step-*.safetensors", "tokenizer/*/*"]


class Command(NamedTuple):
    """What is called, for runs of which kinds, and the files of a run folder that it reads."""

    kinds: list[str]
    arguments: list[str]
    files: list[str]


COMMANDS = {
    "translate.py": Command(["translator", "subwords"], ["run=RUN"], MODEL),
    "evaluate.py": Command(["translator", "subwords"], ["run=RUN"], MODEL),
    "score.py": Command(["neural", "ngram"], ["run=RUN"], MODEL),
    "sample.py": Command(["neural", "ngram"], ["run=RUN", "number=2"], MODEL),
    "compare.py": Command(
        ["translator", "neural"],
        ["runs=RUN", "bootstrap=10", "randomization=10"],
        ["config.yaml", "results.json", "provenance.json", "translations/test.txt"],
    ),
    "rescore.py": Command(["translator", "neural"], ["nbest=nbest", "scorers={lm: RUN}", "source=text"], MODEL),
    "arpa.py": Command(["ngram"], ["run=RUN"], MODEL),
    "average.py": Command(["translator", "neural"], ["run=RUN", "number=1"], AVERAGED),
    "interpolate.py": Command(["neural", "ngram"], ["run=RUN", "val=text"], MODEL),
    "look.py": Command(["translator"], ["runs=RUN", "output=page.html"], ["attention.jsonl"]),
    "train.py resume": Command(["translator", "neural"], ["resume=RUN", "trainer.max_epochs=2"], RESUMED),
    "train.py reproduce": Command(
        ["translator"], ["reproduce=RUN", "hydra.run.dir=again"], ["config.yaml", "results.json"]
    ),
}


def make_runs(folder: Path) -> None:
    """A run folder of each kind, and what else the commands read."""
    for kind, options in KINDS.items():
        train(folder, *options, folder=kind, looking=True)
    (folder / "text").write_text("s1 s2\n", encoding="utf-8")
    (folder / "nbest").write_text("0 ||| a ||| logp=-1 ||| -1\n", encoding="utf-8")


# Damage to any file

Damage = Callable[[Path, random.Random], None]


def flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 3, 50))):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def cut(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: rng.randrange(path.stat().st_size)])


def grow(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.choice((1, 8, 1000))))


def zeros(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    start = rng.randrange(len(content))
    content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    path.write_bytes(content)


def folder_instead(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


def pipe_instead(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def nowhere(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to("nowhere")


ANY: dict[str, Damage] = {
    "flipped bits": flip,
    "cut": cut,
    "longer": grow,
    "zeros": zeros,
    "empty": lambda path, rng: path.write_bytes(b"") and None,
    "random bytes": lambda path, rng: path.write_bytes(rng.randbytes(rng.choice((5, 500, 50_000)))) and None,
    "gone": lambda path, rng: path.unlink(),
    "a folder": folder_instead,
    "a named pipe": pipe_instead,
    "a link to nowhere": nowhere,
}

# Damage to one kind of file


def text(*contents: str) -> Damage:
    return lambda path, rng: path.write_text(rng.choice(contents), encoding="utf-8") and None


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
CONFIGS = ("- a\n- b\n", "3\n", "''\n", "a: b: c\n", "a: 1\na: 2\n", "model: 3\n", "{}\n", LAUGHS, "a: &a\n  b: *a\n")
CONFIGS += ("[" * 5000, "!!python/object/apply:os.system ['touch ran']\n", "attention: {}\n", "a: ${oc.env:HOME}\n")


def value(path: Path, rng: random.Random) -> None:
    """One value of config.yaml, or of a JSON file, is of another type, or not there."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    ways = [way for way in _ways(content) if way]
    way = rng.choice(ways)
    inside = content
    for part in way[:-1]:
        inside = inside[part]
    wrong: list[Any] = [None, "wrong", -1, 0.5, [], {}, [[1]], True, 10**30, "${absolute:x}", float("nan"), "../../x"]
    chosen = rng.choice([*wrong, "absent"])
    if chosen == "absent":
        del inside[way[-1]]
    else:
        inside[way[-1]] = chosen
    dumped = yaml.safe_dump(content) if path.suffix == ".yaml" else json.dumps(content)
    path.write_text(dumped, encoding="utf-8")


def _ways(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inside in pairs:
        yield from _ways(inside, (*way, key))


def hostile(path: Path, rng: random.Random) -> None:
    """A target that would leave a file, somewhere."""
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    node = rng.choice(list(targets(path.parent.parent).values()))
    ways = [way for way in _ways(config) if way and isinstance(way[-1], str)]
    places = [way for way in ways if "_target_" in (at(config, way) or {})] if rng.random() < 0.7 else ways
    way = rng.choice(places or ways)
    inside = at(config, way[:-1])
    inside[way[-1]] = rng.choice(
        [node, node | {"_partial_": True}, {key: node[key] for key in node if key != "_args_"}]
    )
    path.write_text(yaml.safe_dump(config), encoding="utf-8")


def at(node: Any, way: tuple[Any, ...]) -> Any:
    for part in way:
        node = node[part]
    return node if isinstance(node, dict) or not way else None


def swapped_words(path: Path, rng: random.Random) -> None:
    words = path.read_bytes().split(b"\n")
    one, other = rng.sample(range(4, len(words) - 1), 2)
    words[one], words[other] = words[other], words[one]
    path.write_bytes(b"\n".join(words))


def weights(path: Path, rng: random.Random) -> None:
    """NaN, whole numbers, another shape, one tensor fewer, one more, other numbers; the header is sound."""
    tensors = load_file(path)
    name = rng.choice(sorted(tensors))
    change = rng.choice(["nan", "int8", "shape", "fewer", "more", "renamed", "half"])
    tensor = tensors.pop(name)
    made = {
        "nan": {name: torch.full_like(tensor.float(), float("nan"))},
        "int8": {name: torch.ones_like(tensor, dtype=torch.int8)},
        "shape": {name: torch.cat([tensor.reshape(-1), tensor.reshape(-1)])},
        "fewer": {},
        "more": {name: tensor, "more": tensor.clone()},
        "renamed": {f"{name}.x": tensor},
        "half": {name: tensor[: len(tensor) // 2].clone()},
    }
    save_file(tensors | made[change], path)


def checkpoint(path: Path, rng: random.Random) -> None:
    """A sound file of PyTorch's that is no checkpoint of this run, or one that runs code."""
    state = torch.load(path, weights_only=True)
    name = rng.choice(sorted(state["state_dict"]))
    contents = [3, [], {}, {"state_dict": 3}, {"state_dict": {}}, {**state, "state_dict": {}}]
    contents += [{**state, "state_dict": {**state["state_dict"], name: torch.tensor([float("nan")])}}, None]
    torch.save(rng.choice(contents), path)
    if rng.random() < 0.2:
        shutil.copy(path.parents[2] / "evil.pt", path)


def record(path: Path, rng: random.Random) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    number = rng.randrange(len(lines))
    snapshot = json.loads(lines[number])
    way = rng.choice([way for way in _ways(snapshot) if way])
    inside = snapshot
    for part in way[:-1]:
        inside = inside[part]
    wrong: list[Any] = [None, 3, "x", [], {}, [3], base64.b64encode(b"x").decode()]
    inside[way[-1]] = rng.choice(wrong)
    lines[number] = json.dumps(snapshot)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


NO_WORDS = text("\n", "a\nb\n", "<pad>\n<s>\n</s>\n<unk>\n")
CHANGES: dict[str, dict[str, Damage]] = {
    "config.yaml": {"values": value, "hostile": hostile, "text": text(*CONFIGS)},
    "results.json": {"values": value, "text": text("[]", "{}", "null", '{"status": 3}', "{", "[" * 99_999)},
    "provenance.json": {"values": value, "text": text("[]", "{}", "null", '{"sha256": 3}')},
    "kept.json": {"values": value, "text": text("[]", '{"steps": 3}')},
    "words.txt": {"swapped words": swapped_words, "text": NO_WORDS},
    "sentencepiece.model": {"text": text("no model", "\x08\x01")},
    "attention.jsonl": {"values": record, "text": text("3\n", "[]\n", "{}\n", "\x00\n")},
    "metrics.csv": {"text": text("a\n1,2,3\n", "\x00", "step\n")},
    ".safetensors": {"weights": weights},
    ".ckpt": {"checkpoint": checkpoint},
}
"""Damage to one kind of file, by its name or the end of it."""


def damages(file: Path) -> dict[str, Damage]:
    """All that may happen to it; what is made for its kind twice, to be as likely as the rest."""
    return ANY | CHANGES.get(file.name, {}) | CHANGES.get(file.suffix, {})


class Case(NamedTuple):
    """The command that reads a run folder of some kind, one of whose files is damaged; ``seed`` says which and how."""

    command: str
    kind: str
    seed: int


def cases(number: int, seed: int) -> list[Case]:
    """``number`` different ones, of all commands in turn."""
    names = sorted(COMMANDS)
    found = []
    for count in range(number):
        command = names[count % len(names)]
        kinds = COMMANDS[command].kinds
        found.append(Case(command, kinds[count // len(names) % len(kinds)], seed * 100_000 + count))
    return found


@contextmanager
def ends(seconds: int) -> Iterator[None]:
    """Broken: the block does not end."""

    def late(*_: object) -> None:
        raise Broken(f"does not end in {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(case: Case, runs: Path, folder: Path) -> tuple[str, str]:
    """What was done to which file, and what came of it: refused, or read. Broken: a promise."""
    rng = random.Random(case.seed)
    shutil.rmtree(folder, ignore_errors=True)
    prepare(folder)
    for name in ("text", "nbest"):
        shutil.copy(runs / name, folder / name)
    shutil.copytree(runs / "cache", folder / "cache")
    shutil.copytree(runs / case.kind, folder / "RUN", symlinks=True)
    command = COMMANDS[case.command]
    files = [each for each in command.files if any((folder / "RUN").glob(each))]
    path = rng.choice(sorted((folder / "RUN").glob(rng.choice(files))))
    special = sorted(damages(path).keys() - ANY.keys())
    how = rng.choice(special) if special and rng.random() < 0.5 else rng.choice(sorted(ANY))
    if path.name == "best.ckpt" and command.files == MODEL:
        (folder / "RUN" / "weights.safetensors").unlink()  # for it is read in place of that
    try:
        damages(path)[how](path, rng)
        return f"{path.relative_to(folder)}: {how}", _called(case.command, folder, how, path)
    except Broken as problem:
        raise Broken(f"{case}: {path.relative_to(folder)}: {how}\n    {problem}") from None


def _called(command: str, folder: Path, how: str, path: Path) -> str:
    script, *_ = command.split()
    try:
        with ends(SECONDS):
            done = call_script(script, *COMMANDS[command].arguments, cwd=folder, text="s1 s2\ns3\n")
    except Broken:
        raise
    except BaseException as problem:
        raise Broken("".join(traceback.format_exception(problem)[-3:])) from None
    if (folder / MARK).exists():
        raise Broken("code ran")
    if done.status not in (0, 2):
        raise Broken(f"status {done.status}: {done.stderr[-300:]}")
    if "Traceback" in done.stderr:
        raise Broken("a traceback")
    if done.status == 2:
        if len([line for line in done.stderr.splitlines() if line.startswith(script)]) != 1:
            raise Broken(f"not one line: {done.stderr[-300:]}")
        return "refused"
    if how in ("swapped words", "weights") or (how == "hostile" and script != "compare.py"):
        raise Broken("read without a word")
    return "read"


def campaign(number: int, seed: int, folder: Path, say: Callable[[str], object] = print) -> Counter[str]:
    """Try so many cases; what was read is said, and so are those that were broken."""
    (folder / "runs").mkdir()
    make_runs(folder / "runs")
    found: Counter[str] = Counter()
    begun = time.monotonic()
    for case in cases(number, seed):
        try:
            what, outcome = check(case, folder / "runs", folder / "case")
            if outcome == "read":
                say(f"read: {case.command} ({case.kind}) {what}")
        except Broken as problem:
            outcome = "broken"
            say(f"BROKEN: {problem}")
        found[outcome] += 1
    say(
        f"{number} damaged run folders: {found['refused']} refused in one line, {found['read']} read, "
        f"{found['broken']} broken; seed {seed}, {time.monotonic() - begun:.0f} s"
    )
    return found


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as place:
        outcomes = campaign(given[0] if given else LONG, given[1] if len(given) > 1 else 1, Path(place))
    sys.exit(1 if outcomes["broken"] else 0)
