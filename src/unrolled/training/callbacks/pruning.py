"""Ends a trial of a search that does worse than the others did at the same validation."""

from collections.abc import Callable
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.trainer.states import TrainerFn

from unrolled.training.merit import MERIT

Report = Callable[[int, float], bool]
"""(number of a validation, from 1; its value, in the direction of the search) -> whether the trial should end."""


class Pruned(Exception):
    """The search has ended this trial."""


class EndPoorTrial(Callback):
    """Reports the merit of every validation to a search, and ends training with ``Pruned`` when it says so.

    mode: "max" or "min", as the search judges. With several processes, the first asks for all.
    """

    def __init__(self, *, report: Report, mode: str) -> None:
        self._report, self._sign = report, 1.0 if mode == "max" else -1.0
        self._validations = 0

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Report, and end if the search says so."""
        if trainer.sanity_checking or trainer.state.fn != TrainerFn.FITTING:
            return
        self._validations += 1
        ends = False
        if trainer.is_global_zero:
            ends = self._report(self._validations, self._sign * float(trainer.callback_metrics[MERIT]))
        if trainer.strategy.broadcast(ends):
            raise Pruned(f"the search ends this trial after {self._validations} validations: others did better by then")

    def state_dict(self) -> dict[str, Any]:
        """How many validations there were: a resumed trial continues to count."""
        return {"validations": self._validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The count of `state_dict`."""
        self._validations = int(state_dict["validations"])
