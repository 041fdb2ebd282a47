"""The files of a run folder that say what happened: results.json, provenance.json, config.yaml. Written atomically."""

import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

BOLD = "\x1b[1m{}\x1b[0m"
PACKAGES = ("torch", "lightning", "hydra-core", "omegaconf", "wandb", "sentencepiece", "sacrebleu", "numpy")


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_lines(path: Path, lines: list[str]) -> None:
    """One line each; a line break inside a line becomes a space."""
    write_text(path, "".join(line.replace("\r", " ").replace("\n", " ") + "\n" for line in lines))


def write_results(folder: Path, results: dict[str, Any]) -> None:
    """``folder``/results.json; JSON has no NaN or infinity, so those become null."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in results.items()
    }
    write_text(folder / "results.json", json.dumps(finite, indent=2, ensure_ascii=False) + "\n")


def read_results(folder: Path) -> dict[str, Any]:
    """What ``folder``/results.json holds."""
    results: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return results


def table(rows: Sequence[Sequence[str]], *, left: int = 1, bold: Collection[tuple[int, int]] = ()) -> str:
    """``rows`` as lines, their first ``left`` columns to the left and all others to the right, two spaces between.

    Cells at (row, column) of ``bold`` are so on a terminal: they have its codes around them.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [f"{cell:{'<' if place < left else '>'}{widths[place]}}" for place, cell in enumerate(row)]
        cells[-1] = cells[-1].rstrip()
        cells = [BOLD.format(cell) if (number, place) in bold else cell for place, cell in enumerate(cells)]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def show_results(results: dict[str, Any]) -> None:
    """The figures on stdout, one a line."""
    width = max(len(name) for name in results)
    for name, value in results.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        sys.stdout.write(f"{name:{width}}  {shown}\n")
    sys.stdout.flush()


def write_provenance(folder: Path, *, fingerprint: dict[str, str], resume: bool = False) -> None:
    """``folder``/provenance.json: where these figures come from. ``fingerprint``: SHA-256 of data and tokenizer.

    ``resume``: beside what is there, as the last of "resumed".
    """
    facts = _provenance(fingerprint)
    path = folder / "provenance.json"
    if resume and path.is_file():
        first = json.loads(path.read_text(encoding="utf-8"))
        facts = {**first, "resumed": [*first.get("resumed", []), facts]}
    write_text(path, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def _provenance(fingerprint: dict[str, str]) -> dict[str, Any]:
    return {
        "command": [sys.executable, *sys.argv],
        "git": _git(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "accelerators": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        },
        "sha256": fingerprint,
    }


def peak_memory_mib() -> float:
    """The most memory this process has held, in MiB: on the GPU if there is one in use, else resident."""
    if torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0:
        return torch.cuda.max_memory_allocated() / 2**20
    # ru_maxrss counts KiB on Linux and bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _git() -> dict[str, Any] | None:
    here = Path(__file__).resolve().parent

    def ask(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return {"commit": ask("rev-parse", "HEAD"), "dirty": bool(ask("status", "--porcelain"))}
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
