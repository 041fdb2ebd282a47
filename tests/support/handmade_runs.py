"""Run folders without a training: what compare.py reads of one, written by hand."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from support.scripts import write_pair
from unrolled.inspection import record
from unrolled.runs.folder import Run

TEXTS = {"test.source": "1" * 64, "test.target": "2" * 64, "tokenizer.target": "3" * 64}
SIGNATURES = {"bleu_signature": "nrefs:1|tok:13a", "chrf_signature": "nrefs:1", "ter_signature": "nrefs:1"}
RATES = {
    ("cgru", "ady", 1): 20.0,
    ("cgru", "ady", 2): 30.0,
    ("cgru", "bul", 1): 10.0,
    ("cgru", "bul", 2): 12.0,
    ("dot", "ady", 1): 40.0,
    ("dot", "ady", 2): 44.0,
    ("dot", "bul", 1): 50.0,
    ("dot", "bul", 2): 52.0,
}
"""Word error rates in percent, by model, language and seed."""
SOURCES = [f"source {number} {'word ' * (number % 7)}.".replace("  ", " ") for number in range(24)]
REFERENCES = [f"this is the reference of number {number} {'Wort ' * (number % 7)}." for number in range(24)]


def write_text_data(folder: Path, *, links: bool = True) -> dict[str, Any]:
    """A parallel text, with known links of its test side: the data group of a configuration."""
    pairs = {split: write_pair(folder, split, SOURCES, REFERENCES) for split in ("train", "val", "test")}
    data = {split: pair[1:-1].split(",") for split, pair in pairs.items()}
    if links:
        lines = [" ".join(f"{i}-{(i * (number % 3 + 1)) % 4}" for i in range(3)) for number in range(len(SOURCES))]
        (folder / "test.links").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    corpus = {"_target_": "unrolled.data.corpus.ParallelText", **data}
    corpus |= {"test_alignment": str(folder / "test.links") if links else None}
    tokenizer = {"_target_": "unrolled.text.tokenizer.Words", "size": None, "min_count": 1, "joint": False}
    sizes = {"cache": str(folder / "cache"), "max_tokens": 99, "max_length": 99, "seed": 1}
    module = {"_target_": "unrolled.data.module.DataModule", "corpus": corpus, "tokenizer": tokenizer, **sizes}
    return {**data, "bleu_tokenize": "13a", "bleu_lowercase": False, "corpus": corpus, "module": module}


def sha256_of(data: Mapping[str, Any]) -> dict[str, str]:
    """What provenance.json has of them."""
    found = {"tokenizer.target": "a vocabulary"}
    for split in ("train", "val", "test"):
        for side, path in zip(("source", "target"), data[split], strict=True):
            found[f"{split}.{side}"] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return found


def nested(options: Mapping[str, Any]) -> dict[str, Any]:
    """{"model.size": 3} -> {"model": {"size": 3}}."""
    tree: dict[str, Any] = {}
    for name, value in options.items():
        node = tree
        *path, last = name.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return tree


def write_run(
    folder: Path,
    *,
    results: Mapping[str, Any] | None,
    data: Mapping[str, Any] | None = None,
    translations: Sequence[str] | None = None,
    command: Sequence[str] = (),
    sha256: Mapping[str, str] | None = None,
    **options: Any,
) -> Path:
    """A run folder; ``options`` by dotted names, as in ``**{"model.size": 3}``. ``results=None``: it has not ended."""
    folder.mkdir(parents=True)
    config = {"seed": 1, "run_folder": str(folder), "name": folder.name, "cache": "c"}
    config |= nested({"choices.model": "cgru", "choices.attention": "bahdanau", **options})
    if data is not None:
        config["data"] = {**data, "module": {**data["module"], "seed": config["seed"]}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    if sha256 is None and data is not None:
        sha256 = sha256_of(data)
    provenance = {"command": ["python", "src/train.py", *command], "sha256": sha256 or {}}
    (folder / "provenance.json").write_text(json.dumps(provenance), encoding="utf-8")
    if results is not None:
        (folder / "results.json").write_text(json.dumps({"status": "completed", **results}), encoding="utf-8")
    if translations is not None:
        (folder / "translations").mkdir()
        text = "".join(f"{line}\n" for line in translations)
        (folder / "translations" / "test.txt").write_text(text, encoding="utf-8")
    return folder


def run(
    name: str | Path = "run",
    /,
    *,
    bleu: float | None = None,
    results: Mapping[str, Any] | None = None,
    status: str = "completed",
    sha256: Mapping[str, str] = TEXTS,
    named: Sequence[str] | None = ("attention",),
    **options: Any,
) -> Run:
    """What `read_run` gives, without a folder; ``options`` by dotted names."""
    figures = ({} if bleu is None else {"test/bleu": bleu}) | SIGNATURES | dict(results or {})
    options = {"seed": 1, "choices.model": "cgru", "choices.attention": "bahdanau", **options}
    return Run(Path(name), status, options, figures, sha256, None if named is None else frozenset(named))


def write_record(folder: Path, run: str, *texts: str, split: str = "val") -> Path:
    """A folder with the record of a run's attention at one step, on sentences with these texts."""
    folder.mkdir()
    sentences = [{"line": line, "text": text, "source": [text], "targets": {}} for line, text in enumerate(texts, 1)]
    record.write(folder, [{"run": run, "split": split, "step": 7, "sentences": sentences}])
    return folder
