"""The weights of a run: the best, and the average of those kept at validations (Junczys-Dowmunt et al. 2016)."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor, nn

from unrolled.errors import UserError
from unrolled.files import appearing

INDEX = "kept.json"


def weights_of(folder: Path, step: int) -> Path:
    """Where the weights after ``step`` are kept."""
    return folder / f"step-{step}.safetensors"


def ranked(values: dict[int, float], mode: str) -> list[int]:
    """Steps from the best value (``mode`` min or max) to the worst, then NaN; of equal values the later step first."""
    sign = 1 if mode == "min" else -1
    return sorted(values, key=lambda step: (values[step] != values[step], sign * values[step], -step))


def read_kept(folder: Path) -> dict[str, Any]:
    """kept.json: ``monitor``, ``mode``, and ``steps`` with their values."""
    facts: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return facts | {"steps": {int(step): float(value) for step, value in facts["steps"].items()}}


def choose(folder: Path, which: str, number: int) -> list[int]:
    """The steps of the ``number`` best, or last, kept weights of ``folder``. UserError: there are fewer."""
    if not (folder / INDEX).is_file():
        raise UserError(f"{folder}: no weights were kept; train with callbacks.kept.{which}={number}")
    facts = read_kept(folder)
    steps = ranked(facts["steps"], facts["mode"]) if which == "best" else sorted(facts["steps"], reverse=True)
    if len(steps) < number:
        raise UserError(
            f"{folder} holds the weights of {len(steps)} validations, not of {number}: give number={len(steps)}, or "
            f"train with callbacks.kept.{which}={number} or more and as many validations"
        )
    return steps[:number]


def average(paths: list[Path]) -> dict[str, Tensor]:
    """The mean of each tensor over all files, summed in float64."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, weight in load_file(path).items():
            total[name] = total.get(name, torch.zeros(())) + weight.double()
    return {name: (weight / len(paths)).to(load_file(paths[0])[name].dtype) for name, weight in total.items()}


def save_average(weights: dict[str, Tensor], path: Path) -> None:
    """Write ``weights`` so that ``path`` is complete or absent."""
    with _appearing(path) as partial:
        save_file(weights, partial)


def save_weights(model: nn.Module, path: Path) -> None:
    """Write all weights of ``model`` so that a reader of ``path`` sees the old file or the new one."""
    with _appearing(path) as partial:
        save_model(model, str(partial))


@contextmanager
def _appearing(path: Path) -> Iterator[Path]:
    with appearing(path) as partial:
        try:
            yield partial
        except SafetensorError as problem:  # which says only in words that, for example, the disk is full
            if (system := re.search(r"(.*)\(os error (\d+)\)", str(problem))) is None:
                raise
            raise OSError(int(system[2]), system[1].rpartition(": ")[2].strip()) from problem


def load_weights(model: nn.Module, folder: Path) -> None:
    """Load ``model`` from the run ``folder``: from weights.safetensors or, if there is none yet, from a checkpoint."""
    if (folder / "weights.safetensors").is_file():
        load_model(model, str(folder / "weights.safetensors"))
        return
    for name in ("best.ckpt", "last.ckpt"):
        path = folder / "checkpoints" / name
        if path.is_file():
            state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
            model.load_state_dict({key.removeprefix("model."): value for key, value in state.items()})
            return
    raise UserError(f"run={folder}: there are no weights (weights.safetensors or checkpoints/); train the run first")
