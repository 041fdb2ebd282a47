"""Run folders: finding them, and reading options, status and results."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unrolled.errors import UserError, called
from unrolled.runs.results import checked


def short_names(runs: Sequence[str]) -> list[str]:
    """The last folder of each run, with as many parents as needed to tell all of them apart; without white space."""
    paths = [Path(run or ".").resolve().parts for run in runs]
    depth = 1
    while len({path[-depth:] for path in paths}) < len(set(paths)):
        depth += 1
    return ["_".join("/".join(path[-depth:]).split()) for path in paths]


@dataclass(frozen=True)
class Run:
    """The contents of a run folder.

    status: that of results.json, or ``incomplete`` without one. options: the resolved configuration by dotted names,
    see `flattened`. sha256: of data and tokenizers, from provenance.json. named: options named on the command line,
    None if that is not known.
    """

    folder: Path
    status: str
    options: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    sha256: Mapping[str, str] = field(default_factory=dict)
    named: frozenset[str] | None = None

    @property
    def seed(self) -> Any:
        """What distinguishes the runs of a group."""
        seed = self.options.get("seed")
        return seed if isinstance(seed, int | None) else str(seed)

    def fact(self, name: str) -> Any:
        """A value from results.json, the configuration or provenance.json; None if the run has none."""
        return next((facts[name] for facts in (self.results, self.options, self.sha256) if name in facts), None)


def find_runs(runs: str | list[str] | None) -> list[Path]:
    """The run folders in ``runs``: each entry is a run folder, or a folder of run folders, sorted by number.

    An empty folder among run folders counts too: its job ended before it started. UserError: no such folder, or no runs
    in it.
    """
    if not runs:
        raise UserError("runs=... is missing: name a sweep's folder, or run folders: runs='[A,B]'")
    folders: list[Path] = []
    for name in runs if isinstance(runs, list) else [runs]:
        folder = Path(str(name))
        if not folder.is_dir():
            wanted = f"name the one that {called('train')} wrote its runs to"
            raise UserError(f"runs={name}: there is no such folder; {wanted}")
        inside = [folder] if _is_run(folder) else sorted(filter(_is_run, folder.iterdir()), key=_numbers)
        if not any((run / "config.yaml").is_file() for run in inside):
            raise UserError(
                f"runs={name}: neither this folder nor one in it has a config.yaml; name a folder of run folders"
            )
        folders += [run for run in inside if run not in folders]
    return folders


def read_run(folder: Path, config: Mapping[str, Any] | None) -> Run:
    """The contents of a run folder; ``config`` is its resolved configuration, None if it cannot be read."""
    if config is None:
        return Run(folder, "incomplete, without a sound config.yaml")
    provenance = _json(folder / "provenance.json")
    sha256, command = provenance.get("sha256"), provenance.get("command")
    try:
        results = checked(_json(folder / "results.json"))
    except ValueError:  # as of a run that has not ended
        results = {}
    return Run(
        folder=folder,
        status=str(results.get("status", "incomplete")),
        options=flattened(config),
        results=results,
        sha256={str(name): str(value) for name, value in sha256.items()} if isinstance(sha256, dict) else {},
        named=_named(config.get("overrides", command[2:] if isinstance(command, list) else [])),
    )


def flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted names: {"model": {"size": 3}} -> {"model.size": 3}.

    A list is one value, an empty dictionary is {}. Paths in the run's own folder begin with RUN, so that runs agree.
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
    of_a_run = ("config.yaml", "results.json")
    return path.is_dir() and (any((path / name).is_file() for name in of_a_run) or not any(path.iterdir()))


def _numbers(path: Path) -> list[tuple[int, str]]:
    """Sorts 10-cgru after 9-cgru."""
    return [(int(piece), "") if piece.isdigit() else (0, piece) for piece in re.split(r"(\d+)", path.name)]


def _json(path: Path) -> dict[str, Any]:
    """The content of a JSON file; empty if it is missing or damaged."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _named(overrides: Any) -> frozenset[str] | None:
    """[model=cgru, +a.b=1] -> model, a.b; None for anything but a list of words."""
    words = [str(word) for word in overrides] if isinstance(overrides, list) else []
    return frozenset(word.partition("=")[0].lstrip("+~").replace("/", ".") for word in words if "=" in word) or None
