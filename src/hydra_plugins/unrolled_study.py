"""Where Hydra looks for sweepers: the one that conf/sweep/optuna.yaml names."""

from collections.abc import Callable, Sequence
from typing import Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class Study(Sweeper):
    """`unrolled.configuration.study.sweep`, imported late: Hydra imports this module whenever a script starts."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.launch: Callable[..., Any] | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what starts jobs. UserError: no such number of jobs."""
        from unrolled.configuration.ranges import check_sweep
        from unrolled.configuration.study import launcher

        check_sweep(config)

        self.config = config
        self.launch = launcher(hydra_context=hydra_context, task_function=task_function, config=config)

    def sweep(self, arguments: Sequence[str]) -> None:
        """Train until the study has its trials."""
        from unrolled.configuration.study import sweep

        assert self.config is not None
        assert self.launch is not None
        sweep(list(arguments), self.config, self.launch, **self.settings)
