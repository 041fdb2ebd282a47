"""A job of a sweep that fails does not keep the later ones from being trained, once an earlier one has been."""

import logging
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig

from unrolled.configuration.mistakes import full_disk, users_mistake
from unrolled.training.ranks import started_from_outside

log = logging.getLogger(__name__)

OF_A_JOB = {1, 2}
"""Exit statuses of one of several processes of a job that mean an error or a mistake, and no signal."""


@dataclass
class JobsHere:
    """Jobs of a sweep that the command trains in its own process, one after the other.

    A mistake in the first job is probably one in all of them, so it ends the sweep at once. After a job that did not
    fail, a mistake or an error is that job's own: it is reported, the sweep continues, and the command ends with the
    status of the worst failure.
    """

    good: int = 0
    """Jobs that did not fail."""
    failed: int = 0
    status: int = 0

    def value_of(self, job: Callable[[], Any]) -> Any:
        """What ``job`` returns; NaN if it failed and the sweep continues."""
        try:
            returned = job()
        except (Exception, SystemExit) as problem:
            if not self.good or _ends_a_sweep(problem):
                raise
            self.failed += 1
            status = _report(problem)
            self.status = 1 if 1 in (status, self.status) else status
            return math.nan
        self.good += 1
        return returned

    def conclude(self) -> None:
        """Say how many jobs failed, and exit with the status of the worst failure. Otherwise nothing."""
        if self.failed:
            log.error(
                "%d of %d jobs failed, as reported above; the same command, with its sweep.dir, tries them again",
                *(self.failed, self.failed + self.good),
            )
            sys.exit(self.status)


def _ends_a_sweep(problem: BaseException) -> bool:
    """Whether later jobs would fail too, or could not begin together: one process of several that others started."""
    if isinstance(problem, SystemExit):
        return problem.code not in OF_A_JOB or started_from_outside()
    return full_disk(problem) is not None or started_from_outside()


def _report(problem: BaseException) -> int:
    """Log one line for a mistake, a traceback for an error, and return the status of a command that ends with it."""
    hydra = HydraConfig.get()
    name = f"job {hydra.job.num} ({Path(hydra.runtime.output_dir).name})"
    if isinstance(problem, SystemExit):  # another process has reported why
        log.error("%s failed; the sweep continues", name)
        return int(str(problem.code))
    if (mistake := users_mistake(problem)) is not None:
        log.error("%s failed, and the sweep continues: %s", name, mistake)
        return 2
    log.error("%s failed; the sweep continues", name, exc_info=problem)
    return 1
