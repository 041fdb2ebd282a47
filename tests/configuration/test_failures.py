"""Which failures of a job end a sweep, and the status of a sweep that has continued."""

import errno
import math
import pickle
from types import SimpleNamespace

import pytest
from hydra.core.utils import JobReturn, JobStatus

from unrolled.configuration import failures
from unrolled.configuration.failures import Jobs, Reported, current, judged, of_a_job
from unrolled.errors import UserError
from unrolled.training.ranks import Killed

MISTAKE, ERROR = UserError("optimizer.lr=-1: give a number above 0"), ValueError("a fault of the program")
EXITED, KILLED, FULL = SystemExit(2), SystemExit(137), OSError(errno.ENOSPC, "No space left on device")


def fails(problem):
    def job():
        raise problem

    return job


def hydra(number):
    return SimpleNamespace(job=SimpleNamespace(num=number), runtime=SimpleNamespace(output_dir=f"jobs/{number}-x"))


@pytest.fixture
def jobs(monkeypatch):
    """Of a sweep, none of which has ended."""
    monkeypatch.setattr(failures, "HydraConfig", SimpleNamespace(get=lambda: hydra(1)))
    monkeypatch.setattr(failures, "in_sweep", lambda: True)
    return Jobs()


@pytest.fixture
def after_a_good_job(jobs):
    assert jobs.value_of(lambda: 3.0) == 3.0
    return jobs


@pytest.mark.parametrize("problem", [MISTAKE, EXITED])
def test_a_mistake_in_the_first_job_ends_the_sweep(problem, jobs):
    with pytest.raises(type(problem)):
        jobs.value_of(fails(problem))


@pytest.mark.parametrize("problem", [ERROR, SystemExit(1)])
def test_an_error_in_the_first_job_does_not(problem, jobs):
    assert math.isnan(jobs.value_of(fails(problem)))
    assert (jobs.failed, jobs.status) == (1, 1)


@pytest.mark.parametrize("problem", [ERROR, SystemExit(1), MISTAKE])
def test_a_single_run_ends_with_its_own_error(problem, monkeypatch):
    monkeypatch.setattr(failures, "in_sweep", lambda: False)
    with pytest.raises(type(problem)):
        Jobs().value_of(fails(problem))


INTERRUPTED = ValueError("a library's, about Ctrl-C")
INTERRUPTED.__cause__ = KeyboardInterrupt()


@pytest.mark.parametrize("problem", [KILLED, FULL, KeyboardInterrupt(), INTERRUPTED])
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
    assert caplog.text.count(f"job 1 (1-x) failed: {MISTAKE}") == problems.count(MISTAKE)
    with pytest.raises(SystemExit) as ended:
        after_a_good_job.conclude()
    assert ended.value.code == status
    jobs = "1 job" if len(problems) == 1 else f"{len(problems)} jobs"
    assert caplog.messages[-1].startswith(f"{jobs} failed, as reported above")


def test_nothing_is_said_where_nothing_failed(after_a_good_job, caplog):
    after_a_good_job.conclude()
    assert not caplog.messages


def ended(number, value):
    status = JobStatus.FAILED if isinstance(value, Exception) else JobStatus.COMPLETED
    return JobReturn(hydra_cfg=SimpleNamespace(hydra=hydra(number)), status=status, _return_value=value)


@pytest.fixture
def launched(jobs):
    """``launched(values)``: the values that a sweeper sees of jobs that ended so in other processes."""
    before, current[:] = list(current), [jobs]
    yield lambda *values: judged(lambda _, first: [ended(first + i, value) for i, value in enumerate(values)])([], 3)
    current[:] = before


def test_jobs_that_failed_elsewhere_do_not_hide_the_others(launched, jobs, caplog):
    full = OSError(errno.ENOSPC, "No space left on device", "x.ckpt")
    values = [job.return_value for job in launched(MISTAKE, 2.0, ERROR, full)]
    assert [math.isnan(value) for value in values] == [True, False, True, True]
    assert caplog.messages[:2] == [f"job 3 (3-x) failed: {MISTAKE}", "job 5 (5-x) failed"]
    assert caplog.messages[2].startswith("job 6 (6-x) failed: x.ckpt: No space left on device")
    assert (jobs.failed, jobs.status) == (3, 1)


@pytest.mark.parametrize(("problem", "killed"), [(SystemExit(1), False), (EXITED, False), (Killed(1), True)])
def test_a_job_of_several_processes_that_fails_elsewhere_does_not_hide_the_others(problem, killed, launched, jobs):
    """joblib raises a SystemExit of a job as its own, and submitit saves no result."""
    with pytest.raises(Reported) as failed:
        of_a_job(fails(problem))
    brought = pickle.loads(pickle.dumps(failed.value))
    assert (brought.status, brought.killed) == (problem.code, killed)
    values = [job.return_value for job in launched(brought, 2.0)]
    assert [math.isnan(value) for value in values] == [True, False]
    assert (jobs.failed, jobs.status) == (1, problem.code)
    with pytest.raises(SystemExit, match="137"):  # a signal
        of_a_job(fails(KILLED))


def test_the_first_error_is_raised_if_all_failed_elsewhere(launched, jobs, caplog):
    first, second = launched(MISTAKE, ERROR)
    with pytest.raises(UserError):
        _ = first.return_value
    assert (jobs.failed, caplog.messages, second.status) == (0, [], JobStatus.FAILED)


def test_a_batch_that_fails_elsewhere_after_a_good_one_does_not_end_the_sweep(launched, jobs, caplog):
    launched(1.0)
    values = [job.return_value for job in launched(MISTAKE, MISTAKE)]
    assert [math.isnan(value) for value in values] == [True, True]
    assert caplog.messages == [f"job 3 (3-x) failed: {MISTAKE}", f"job 4 (4-x) failed: {MISTAKE}"]
    assert (jobs.failed, jobs.status) == (2, 2)


def test_a_batch_for_which_the_disk_is_full_ends_the_sweep(launched):
    launched(1.0)
    (job,) = launched(FULL)
    with pytest.raises(OSError, match="No space left"):
        _ = job.return_value
