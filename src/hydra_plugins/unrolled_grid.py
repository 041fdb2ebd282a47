"""Where Hydra looks for sweepers: the one that conf/sweep/default.yaml names."""

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class Grid(BasicSweeper):
    """Hydra's own sweeper of all combinations, except that a job which fails does not hide how the others ended."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what starts jobs, and looks at how they ended. UserError: no such number of jobs."""
        from unrolled.configuration.failures import judged
        from unrolled.configuration.ranges import check_sweep

        check_sweep(config)
        super().setup(hydra_context=hydra_context, task_function=task_function, config=config)
        assert self.launcher is not None
        self.launcher.launch = judged(self.launcher.launch)  # type: ignore[method-assign, assignment]
