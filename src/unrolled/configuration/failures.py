"""A job of a sweep that fails does not keep the others from being trained, and from being shown in one table."""

import logging
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus

from unrolled.configuration.mistakes import full_disk, users_mistake
from unrolled.configuration.sweep import in_sweep
from unrolled.errors import printable, was_interrupted
from unrolled.training.cluster import started_from_outside
from unrolled.training.ranks import Killed

log = logging.getLogger(__name__)

Launch = Callable[[Sequence[Sequence[str]], int], Sequence[JobReturn]]

ERROR, MISTAKE = 1, 2
OF_A_JOB = (ERROR, MISTAKE)
"""Exit statuses of one of several processes of a job that mean no signal."""


class Reported(Exception):
    """The failure of a job of several processes, one of which has said why, with the exit ``status`` of that one.

    killed: whether it said nothing, because it was killed.
    """

    def __init__(self, status: int, killed: bool) -> None:
        super().__init__(status, killed)
        self.status, self.killed = status, killed

    def __str__(self) -> str:
        return "one of its processes has reported why"


def of_a_job(job: Callable[[], Any]) -> Any:
    """What ``job`` returns; Reported, not a SystemExit, which would end the study or launcher that waits for it."""
    try:
        return job()
    except SystemExit as problem:
        if problem.code not in OF_A_JOB:
            raise
        raise Reported(int(str(problem.code)), isinstance(problem, Killed)) from problem


@dataclass
class Jobs:
    """Jobs of a sweep, and how many of them failed.

    A mistake in the first job that this process trains is probably one in all of them, so it ends the sweep at once,
    and so does a full disk. Any other mistake or error is that job's own: it is reported, the others are trained, and
    the command ends with the status of the worst failure.
    """

    good: int = 0
    """Jobs that this process trained and that did not fail."""
    failed: int = 0
    status: int = 0
    judged_good: bool = False
    """Whether `judge` has seen a batch in which a job did not fail."""

    def value_of(self, job: Callable[[], Any]) -> Any:
        """What ``job`` returns, in this process; NaN if it failed and the sweep continues."""
        try:
            returned = job()
        except (Exception, SystemExit) as problem:
            if not in_sweep() or _ends_a_sweep(problem, first=not self.good):
                raise
            self._failed(problem, HydraConfig.get())
            return math.nan
        self.good += 1
        return returned

    def judge(self, returned: Sequence[JobReturn]) -> None:
        """Report the jobs that failed, which then have the value NaN.

        If all did, Hydra raises the first's error, unless jobs of an earlier batch did not and the disk is not full.
        """
        failed = [job for job in returned if job.status == JobStatus.FAILED]
        if len(failed) < len(returned):
            self.judged_good = True
        elif not self.judged_good or any(full_disk(job._return_value) for job in failed):
            return
        for job in failed:
            assert job.hydra_cfg is not None
            self._failed(job._return_value, job.hydra_cfg.hydra)
            job.status, job.return_value = JobStatus.COMPLETED, math.nan

    def conclude(self) -> None:
        """Say how many jobs failed, and exit with the status of the worst failure. Otherwise nothing."""
        if self.failed:
            jobs = "1 job" if self.failed == 1 else f"{self.failed} jobs"
            log.error("%s failed, as reported above; the same command, with its sweep.dir, tries again", jobs)
            sys.exit(self.status)

    def _failed(self, problem: BaseException, hydra: Any) -> None:
        self.failed += 1
        status = _report(problem, f"job {hydra.job.num} ({Path(hydra.runtime.output_dir).name})")
        self.status = ERROR if ERROR in (status, self.status) else status


current: list[Jobs] = [Jobs()]
"""The jobs of the command that runs in this process."""


def judged(launch: Launch) -> Launch:
    """``launch`` of a launcher, but a job that failed has no value, instead of an error, if another did not fail."""

    def launch_and_judge(job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        returned = launch(job_overrides, initial_job_idx)
        current[-1].judge(returned)
        return returned

    return launch_and_judge


def _ends_a_sweep(problem: BaseException, *, first: bool) -> bool:
    """Whether later jobs would fail too, or could not begin together: one process of several that others started."""
    if started_from_outside():
        return True
    if isinstance(problem, SystemExit):
        return problem.code not in OF_A_JOB or (first and problem.code == MISTAKE)
    if full_disk(problem) is not None or was_interrupted(problem):
        return True
    return first and users_mistake(problem) is not None


def _report(problem: BaseException, job: str) -> int:
    """Log one line for a mistake, a traceback for an error, and return the status of a command that ends with it."""
    if isinstance(problem, SystemExit | Reported):  # another process has reported why
        log.error("%s failed", job)
        return problem.status if isinstance(problem, Reported) else int(str(problem.code))
    mistake = users_mistake(problem)
    if line := mistake or full_disk(problem):
        log.error("%s failed: %s", job, printable(line))
    else:
        log.error("%s failed", job, exc_info=problem)
    return MISTAKE if mistake else ERROR
