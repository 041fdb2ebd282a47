"""The trial of an Optuna study that a job of sweep=optuna is: it reports its validations there."""

import json
import os
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from hydra.utils import instantiate

from unrolled.configuration.values import resolved

TRIAL = "UNROLLED_TRIAL"
"""Environment variable of a job's further processes: the trial, as JSON."""
STUDY = "unrolled"
"""The name of the study in its storage."""
PRUNED = "pruned"
"""The mark in the storage of a trial that was ended early."""


@dataclass(frozen=True)
class Trial:
    """A trial by its number; ``pruner`` is the configuration of Optuna's pruner."""

    storage: str
    number: int
    pruner: dict[str, Any]

    def report(self, validation: int, value: float) -> bool:
        """Tell the study the value of this validation, and return whether the trial should end."""
        import optuna

        study = _study(self.storage, os.getcwd())
        study.pruner = instantiate(self.pruner)
        frozen = study.trials[self.number]
        trial = optuna.trial.Trial(study, frozen._trial_id)
        if validation not in frozen.intermediate_values:  # a resumed trial validates once more
            trial.report(value, validation)
        if not trial.should_prune():
            return False
        trial.set_user_attr(PRUNED, True)
        return True

    def to_environment(self) -> str:
        """For the environment variable ``TRIAL``."""
        return json.dumps(asdict(self))


@cache  # opening a storage takes longer than asking it
def _study(storage: str, folder: str) -> Any:  # a storage may be named as seen from the working folder
    import optuna

    return optuna.load_study(study_name=STUDY, storage=storage)


def this_trial() -> Trial | None:
    """The trial that this process trains, if it is a job of a study."""
    if os.environ.get(TRIAL):
        return Trial(**json.loads(os.environ[TRIAL]))
    if not HydraConfig.initialized() or HydraConfig.get().mode != RunMode.MULTIRUN:
        return None
    hydra = HydraConfig.get()
    if "pruner" not in hydra.sweeper:
        return None
    return Trial(hydra.sweeper.storage, hydra.job.num, resolved(hydra.sweeper.pruner))
