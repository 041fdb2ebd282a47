"""Which failures of a job end a sweep, and the status of a sweep that has gone on."""

import errno
import math
from types import SimpleNamespace

import pytest

from unrolled.configuration import failures
from unrolled.configuration.failures import JobsHere
from unrolled.errors import UserError

MISTAKE, ERROR = UserError("optimizer.lr=-1: give a number above 0"), ValueError("a fault of the program")
EXITED, KILLED, FULL = SystemExit(2), SystemExit(137), OSError(errno.ENOSPC, "No space left on device")


def fails(problem):
    def job():
        raise problem

    return job


@pytest.fixture
def after_a_good_job(monkeypatch):
    hydra = SimpleNamespace(job=SimpleNamespace(num=1), runtime=SimpleNamespace(output_dir="jobs/1-second"))
    monkeypatch.setattr(failures, "HydraConfig", SimpleNamespace(get=lambda: hydra))
    jobs = JobsHere()
    assert jobs.value_of(lambda: 3.0) == 3.0
    return jobs


@pytest.mark.parametrize("problem", [MISTAKE, ERROR, EXITED])
def test_the_first_job_ends_the_sweep(problem):
    with pytest.raises(type(problem)):
        JobsHere().value_of(fails(problem))


@pytest.mark.parametrize("problem", [KILLED, FULL, KeyboardInterrupt()])
def test_what_later_jobs_cannot_escape_ends_the_sweep(problem, after_a_good_job):
    with pytest.raises(type(problem)):
        after_a_good_job.value_of(fails(problem))


def test_no_sweep_goes_on_where_other_processes_wait(monkeypatch, after_a_good_job):
    monkeypatch.setattr(failures, "started_from_outside", lambda: True)
    for problem in (MISTAKE, ERROR, EXITED):
        with pytest.raises(type(problem)):
            after_a_good_job.value_of(fails(problem))


@pytest.mark.parametrize(
    ("problems", "status"),
    [([MISTAKE], 2), ([EXITED], 2), ([MISTAKE, ERROR, MISTAKE], 1), ([SystemExit(1), MISTAKE], 1)],
)
def test_the_status_is_that_of_the_worst_failure(problems, status, after_a_good_job, caplog):
    for problem in problems:
        assert math.isnan(after_a_good_job.value_of(fails(problem)))
    assert caplog.text.count(f"job 1 (1-second) failed, and the sweep continues: {MISTAKE}") == problems.count(MISTAKE)
    with pytest.raises(SystemExit) as ended:
        after_a_good_job.conclude()
    assert ended.value.code == status
    assert f"{len(problems)} of {len(problems) + 1} jobs failed" in caplog.messages[-1]


def test_nothing_is_said_where_nothing_failed(after_a_good_job, caplog):
    after_a_good_job.conclude()
    assert not caplog.messages
