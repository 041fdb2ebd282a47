"""Jobs that are submitted to a cluster and not waited for."""

import logging
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn, JobStatus

from unrolled.configuration.failures import Launch
from unrolled.configuration.sweep import Sweep

log = logging.getLogger(__name__)


def submitted(launch: Launch) -> Launch:
    """``launch`` of submitit's launcher, which returns when the jobs are submitted, before any of them has ended."""

    def launch_only(jobs: Sequence[Sequence[str]], first: int) -> Sequence[JobReturn]:
        import submitit

        class Unawaited(submitit.AutoExecutor):
            def map_array(self, function: Any, *arguments: Any) -> list[Any]:
                return [Submitted(job.job_id) for job in super().map_array(function, *arguments)]

        waiting = submitit.AutoExecutor
        submitit.AutoExecutor = Unawaited  # type: ignore[misc]
        try:
            returned = launch(jobs, first)
        finally:
            submitit.AutoExecutor = waiting  # type: ignore[misc]
        folder, Sweep.folder = Sweep.folder, None
        log.info(
            "submitted %d jobs to the cluster; `squeue --me` shows them, and when they are done the same command with "
            "sweep.dir=%s and without sweep.wait shows how they ended, and trains what is missing",
            len(jobs),
            folder,
        )
        return returned

    return launch_only


class Submitted:
    """What the launcher asks of a job, as if it had ended."""

    def __init__(self, number: str) -> None:
        log.info("job %s", number)

    def results(self) -> list[JobReturn]:
        """No value."""
        job = JobReturn()
        job.status = JobStatus.COMPLETED
        job.return_value = None
        return [job]
