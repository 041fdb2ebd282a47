"""provenance.json: where a run's figures come from."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from unrolled import __version__
from unrolled.errors import AS_MODULE, INSTALLED, UserError
from unrolled.files import reading, write_text
from unrolled.text.lines import sha256

PACKAGES = ("torch", "lightning", "hydra-core", "omegaconf", "wandb", "sentencepiece", "sacrebleu", "numpy")


def write_provenance(folder: Path, *, fingerprint: dict[str, str], resume: bool = False) -> None:
    """``folder``/provenance.json: where these figures come from. ``fingerprint``: SHA-256 of data and tokenizer.

    ``resume``: keep what is there, and append to its "resumed".
    """
    facts = _provenance(fingerprint)
    path = folder / "provenance.json"
    if resume and path.exists():
        with reading(path):
            first = json.loads(path.read_text(encoding="utf-8"))
            facts = {**first, "resumed": [*first.get("resumed", []), facts]}
    write_text(path, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def changed_since(folder: Path, now: Mapping[str, str]) -> list[str]:
    """The names of what is not as it was when the run ``folder`` was trained. now: SHA-256 as in provenance.json."""
    path = folder / "provenance.json"
    if not path.exists():
        return []
    with reading(path):
        before = json.loads(path.read_text(encoding="utf-8"))["sha256"]
        return [name for name, value in now.items() if before.get(name, value) != value]


def changed_texts(folder: Path, files: Mapping[str, Path]) -> list[Path]:
    """Those of ``files`` that are not as they were when the run ``folder`` was trained; named as in provenance.json."""
    return [files[name] for name in changed_since(folder, {name: sha256(path) for name, path in files.items()})]


def check_unchanged(folder: Path, names: Mapping[str, Path | str], now: Mapping[str, str]) -> None:
    """UserError: data or tokenizers are not what the run ``folder`` was trained with so far.

    now: their SHA-256, named as in provenance.json; names: what to call each in the message.
    """
    if changed := changed_since(folder, now):
        raise UserError(
            f"resume={folder}: {names.get(changed[0], changed[0])} has changed since the run was trained with it, as "
            f"SHA-256 says ({changed[0]}): restore the old one, or train again"
        )


def _provenance(fingerprint: dict[str, str]) -> dict[str, Any]:
    return {
        "command": _command(),
        "git": _git(),
        "python": platform.python_version(),
        "versions": {"unrolled": __version__} | _versions(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "accelerators": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
        },
        "sha256": fingerprint,
    }


@cache
def _versions() -> dict[str, str]:
    """The versions of `PACKAGES`, read once: what has been imported does not change while the process runs."""
    return {name: version(name) for name in PACKAGES} | {"torch": str(torch.__version__)}  # with that of CUDA


def _command() -> list[str]:
    program, *arguments = sys.argv or [""]  # which a program that embeds Python may leave empty
    if program.startswith((INSTALLED + " ", AS_MODULE + " ")):  # and the command's name
        return [*program.split(), *arguments]
    return [sys.executable, program, *arguments]


def _git() -> dict[str, Any] | None:
    """The commit of the repository that this file belongs to; None for an installed package, wherever that is."""
    here = Path(__file__).resolve().parent

    def ask(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if ask("ls-files", Path(__file__).name) == "":  # an environment within somebody else's repository
            return None
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
