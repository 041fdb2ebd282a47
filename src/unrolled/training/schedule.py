"""Learning-rate schedules, as Lightning's ``lr_scheduler`` dictionaries. ``steps`` are steps of the optimiser.

``length()`` is how many of them the training has unless it stops early; it may be called after the first.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from unrolled.errors import POSITIVE_WHOLE, WHOLE, check

Schedule = dict[str, Any] | None
Length = Callable[[], float]
STEPS = replace(POSITIVE_WHOLE, instead="use schedule=constant")


def constant(optimizer: Optimizer, *, monitor: str, mode: str, length: Length) -> Schedule:
    """The learning rate does not change."""
    return None


def warm_up(optimizer: Optimizer, *, monitor: str, mode: str, length: Length, steps: int) -> Schedule:
    """Linear from lr/steps to lr in ``steps`` optimiser steps, then constant."""
    steps = _checked(steps)
    return {"scheduler": LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / steps)), "interval": "step"}


def inverse_square_root(optimizer: Optimizer, *, monitor: str, mode: str, length: Length, steps: int) -> Schedule:
    """Linear warm-up to lr in ``steps`` steps, then lr * sqrt(steps / step) (Vaswani et al. 2017, eq 3)."""
    steps = _checked(steps)

    def factor(step: int) -> float:
        return min((step + 1) / steps, (steps / (step + 1)) ** 0.5)

    return {"scheduler": LambdaLR(optimizer, factor), "interval": "step"}


def linear_decay(
    optimizer: Optimizer, *, monitor: str, mode: str, length: Length, steps: int | None, warm_up: int = 0
) -> Schedule:
    """Linear from lr / ``warm_up`` to lr in ``warm_up`` optimiser steps, then to 0 at ``steps``; None: the last."""
    if steps is not None:
        _checked(steps)
    check("schedule.warm_up", warm_up, WHOLE)

    def factor(step: int) -> float:
        # length() must not be called before the first step: a resumed loader would start its epoch again
        if step < max(warm_up, 1):
            return (step + 1) / max(warm_up, 1)
        falling = (steps or length()) - warm_up
        return max(0.0, 1 - (step - warm_up) / falling) if falling > 0 else 0.0

    return {"scheduler": LambdaLR(optimizer, factor), "interval": "step"}


class Plateau(ReduceLROnPlateau):
    """PyTorch's, but only a validation that it has not seen yet is a step."""

    seen = 0
    """The number of updates before the last validation that it has seen."""

    def look(self, figure: float, validated: int) -> None:
        """``figure``: of the last validation, which came after ``validated`` updates."""
        if validated != self.seen:
            self.seen = validated  # saved with the scheduler's other attributes
            self.step(figure)


def halve_on_plateau(
    optimizer: Optimizer, *, monitor: str, mode: str, length: Length, patience: int, factor: float, minimum: float
) -> Schedule:
    """Multiply lr by ``factor`` when ``monitor`` has not improved for more than ``patience`` epochs.

    The last validation of an epoch counts, and an epoch without one does not. lr never falls below ``minimum``.
    """
    scheduler = Plateau(
        optimizer,
        mode="max" if mode == "max" else "min",
        factor=factor,
        patience=patience,
        min_lr=minimum,
        threshold=0.0,
    )
    return {"scheduler": scheduler, "interval": "epoch", "monitor": monitor, "strict": False}


def warms_up(scheduler: Any, updates: int) -> bool:
    """Whether the learning rate had not reached lr, and was still rising, at the last of ``updates``."""
    if not updates or not isinstance(scheduler, LambdaLR):
        return False
    factor = scheduler.lr_lambdas[0]
    return factor(updates - 1) < min(factor(updates), 1)


def _checked(steps: int) -> int:
    check("schedule.steps", steps, STEPS)
    return steps
