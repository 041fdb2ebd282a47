"""Keeps the weights of the last and the best validations, for averaging."""

import json
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.trainer.states import TrainerFn

from unrolled.errors import WHOLE, check
from unrolled.files import write_text
from unrolled.runs.weights import INDEX, ranked, read_kept, save_weights, weights_of


class KeepWeights(Callback):
    """Writes the model's weights to ``folder`` after a validation; keeps the ``last`` and the ``best`` of them.

    The files are ``folder``/step-N.safetensors; ``folder``/kept.json has the value of ``monitor`` for every kept step,
    and for every validation.
    """

    def __init__(self, *, folder: str, monitor: str, mode: str, last: int, best: int) -> None:
        check("callbacks.kept.last", last, WHOLE)
        check("callbacks.kept.best", best, WHOLE)
        self.folder = Path(folder)
        self.monitor = monitor
        self.mode = mode
        self.last = last
        self.best = best

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Keep these weights, and delete those that are neither among the last nor among the best."""
        value = trainer.callback_metrics.get(self.monitor)
        fitting = trainer.state.fn == TrainerFn.FITTING and not trainer.sanity_checking
        if not fitting or not trainer.is_global_zero or value is None:
            return
        values = read_kept(self.folder)["validations"] if (self.folder / INDEX).is_file() else {}
        values[trainer.global_step] = float(value)
        kept = {*sorted(values, reverse=True)[: self.last], *ranked(values, self.mode)[: self.best]}
        if trainer.global_step in kept:
            save_weights(module.model, weights_of(self.folder, trainer.global_step))
        facts = {
            "monitor": self.monitor,
            "mode": self.mode,
            "steps": {step: values[step] for step in sorted(kept)},
            "validations": values,
        }
        write_text(self.folder / INDEX, json.dumps(facts, indent=2) + "\n")
        for path in {*self.folder.glob("step-*.safetensors")} - {weights_of(self.folder, step) for step in kept}:
            path.unlink(missing_ok=True)  # also what a process left that was killed here
