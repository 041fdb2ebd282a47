"""Run folders: finding them, and what was chosen and became of each."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unrolled.errors import UserError


def short_names(runs: Sequence[str]) -> list[str]:
    """The last folder of each run, with as many before it as tell all of them apart; without white space."""
    parts = [Path(run or ".").resolve().parts for run in runs]
    depth = 1
    while len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    return ["_".join("/".join(part[-depth:]).split()) for part in parts]


@dataclass(frozen=True)
class Run:
    """A run folder, read.

    status: results.json's, or ``incomplete`` where there is none. options: the resolved configuration by dotted names,
    see `flattened`. sha256: of data and tokenizers, as provenance.json has them. named: options named on the command
    line, None where that is not known.
    """

    folder: Path
    status: str
    options: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    named: frozenset[str] | None = None

    @property
    def seed(self) -> Any:
        """What tells runs of one group apart."""
        return self.options.get("seed")

    def fact(self, name: str) -> Any:
        """A figure or a fact, None where the run has none: of results.json, the configuration or provenance.json."""
        return next((facts[name] for facts in (self.results, self.options, self.sha256) if name in facts), None)


def find_runs(runs: str | list[str] | None) -> list[Path]:
    """The run folders among ``runs``: each is one itself, or a folder of some, taken in order of their numbers.

    An empty folder beside run folders is one too: of a job that ended before it began. UserError: no such folder, or no
    runs in it.
    """
    if not runs:
        raise UserError("runs=... is missing: name a sweep's folder, or run folders: runs='[A,B]'")
    found: list[Path] = []
    for name in runs if isinstance(runs, list) else [runs]:
        folder = Path(str(name))
        if not folder.is_dir():
            raise UserError(f"runs={name}: there is no such folder; name the one that train.py wrote its runs to")
        inside = [folder] if _is_run(folder) else sorted(filter(_is_run, folder.iterdir()), key=_numbers)
        if not any((run / "config.yaml").is_file() for run in inside):
            raise UserError(
                f"runs={name}: neither this folder nor one in it has a config.yaml; name a folder of run folders"
            )
        found += [run for run in inside if run not in found]
    return found


def read_run(folder: Path, config: Mapping[str, Any] | None) -> Run:
    """What the files of a run folder say; ``config`` is its resolved configuration, None for none to be read."""
    if config is None:
        return Run(folder, "incomplete, without a sound config.yaml")
    provenance = _json(folder / "provenance.json")
    results = _json(folder / "results.json")
    return Run(
        folder=folder,
        status=str(results.get("status", "incomplete")),
        options=flattened(config),
        results=results,
        sha256=provenance.get("sha256", {}),
        named=_named(provenance.get("command", [])),
    )


def flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted names: {"model": {"size": 3}} -> {"model.size": 3}.

    A list is one value, an empty dictionary is {}. Paths within the run's own folder begin with RUN: they are alike.
    """
    folder = str(config.get("run_folder", ""))

    def walk(node: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for key, value in node.items():
            if isinstance(value, Mapping) and value:
                yield from walk(value, f"{prefix}{key}.")
            elif folder and isinstance(value, str) and (value == folder or value.startswith(f"{folder}/")):
                yield f"{prefix}{key}", "RUN" + value[len(folder) :]
            else:
                yield f"{prefix}{key}", value

    return dict(walk(config, ""))


def _is_run(path: Path) -> bool:
    return path.is_dir() and ((path / "config.yaml").is_file() or not any(path.iterdir()))


def _numbers(path: Path) -> list[tuple[int, str]]:
    """Sorts 10-cgru behind 9-cgru."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", path.name)]


def _json(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing if it is missing or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _named(command: Sequence[str]) -> frozenset[str] | None:
    """python src/train.py -m model=cgru,bahdanau +a.b=1 -> model, a.b"""
    names = {word.partition("=")[0].lstrip("+~").replace("/", ".") for word in command[2:] if "=" in word}
    return frozenset(names) or None
