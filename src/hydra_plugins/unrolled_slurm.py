"""Where Hydra looks for launchers: the one that conf/hydra/launcher/slurm.yaml names."""

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class Slurm(Launcher):
    """submitit's launcher, which need not wait for its jobs: ``sweep.wait=false``.

    Imported late: Hydra imports this module whenever a script starts.
    """

    def __init__(self, **settings: Any) -> None:
        from hydra_plugins.hydra_submitit_launcher.submitit_launcher import SlurmLauncher

        self.submitting = SlurmLauncher(**settings)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what the jobs will need."""
        self.wait = config.sweep.wait
        self.submitting.setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Submit the jobs, and wait for them if that is wanted."""
        from unrolled.configuration.submission import submitted

        launch = self.submitting.launch if self.wait else submitted(self.submitting.launch)
        returned: Sequence[JobReturn] = launch(job_overrides, initial_job_idx)
        return returned
