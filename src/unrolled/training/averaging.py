"""Weights of several moments of a training, kept and averaged (as Junczys-Dowmunt et al. 2016 average checkpoints)."""

import json
import os
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.trainer.states import TrainerFn
from safetensors.torch import load_file, save_file, save_model
from torch import Tensor

from unrolled.errors import UserError
from unrolled.training.results import write_text

INDEX = "kept.json"


class KeepWeights(Callback):
    """Writes the model's weights to ``folder`` after a validation; keeps the ``last`` and the ``best`` of them.

    ``folder``/step-N.safetensors; ``folder``/kept.json has every kept step's value of ``monitor``.
    """

    def __init__(self, *, folder: str, monitor: str, mode: str, last: int, best: int) -> None:
        if min(last, best) < 0:
            raise UserError(f"callbacks.kept: last={last} best={best}: give whole numbers from 0")
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.last = last
        self.best = best

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Keep these weights, and let go of those that are neither among the last nor among the best."""
        value = trainer.callback_metrics.get(self.monitor)
        fitting = trainer.state.fn == TrainerFn.FITTING and not trainer.sanity_checking
        if not fitting or not trainer.is_global_zero or value is None:
            return
        values = read_kept(self.folder)["steps"] if (self.folder / INDEX).is_file() else {}
        values[trainer.global_step] = float(value)
        kept = {*sorted(values, reverse=True)[: self.last], *ranked(values, self.mode)[: self.best]}
        if trainer.global_step in kept:
            self.folder.mkdir(parents=True, exist_ok=True)
            half = self.folder / ".half.safetensors"
            save_model(module.model, str(half))
            os.replace(half, weights_of(self.folder, trainer.global_step))
        facts = {"monitor": self.monitor, "mode": self.mode, "steps": {step: values[step] for step in sorted(kept)}}
        write_text(self.folder / INDEX, json.dumps(facts, indent=2) + "\n")
        for step in values.keys() - kept:
            weights_of(self.folder, step).unlink(missing_ok=True)


def weights_of(folder: Path, step: int) -> Path:
    """Where the weights after ``step`` are kept."""
    return folder / f"step-{step}.safetensors"


def ranked(values: dict[int, float], mode: str) -> list[int]:
    """Steps from the best value (``mode`` min or max) to the worst, NaN; of equals the later first."""
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
    """Write ``weights`` so that ``path`` is whole or not there."""
    half = path.with_name(f".half.{path.name}")
    save_file(weights, str(half))
    os.replace(half, path)
