"""Jobs that are submitted and not waited for. A cluster that runs them: tests/commands/test_train_launchers.py."""

import logging
from types import SimpleNamespace
from typing import ClassVar

import pytest

from unrolled.configuration import submission
from unrolled.configuration.submission import submitted
from unrolled.configuration.sweep import Sweep

submitit = pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")


class Executor:
    """submitit's, of jobs that never end."""

    submitted: ClassVar[list] = []

    def __init__(self, cluster):
        self.cluster = cluster

    def map_array(self, function, *arguments):
        self.submitted.extend(zip(*arguments))
        return [SimpleNamespace(job_id=f"42_{place}") for place in range(len(arguments[0]))]


def launch(jobs, first):
    """As submitit's launcher does it."""
    executor = submitit.AutoExecutor(cluster="slurm")
    running = executor.map_array(None, jobs, range(first, first + len(jobs)))
    return [job.results()[0] for job in running]


def test_jobs_are_submitted_and_the_command_goes_on(monkeypatch, caplog):
    monkeypatch.setattr(submitit, "AutoExecutor", Executor)
    monkeypatch.setattr(Executor, "submitted", [])
    monkeypatch.setattr(Sweep, "folder", "outputs/cells")
    with caplog.at_level(logging.INFO, submission.__name__):
        returned = submitted(launch)([["seed=1"], ["seed=2"]], 5)
    assert Executor.submitted == [(["seed=1"], 5), (["seed=2"], 6)]
    assert [job.return_value for job in returned] == [None, None]
    assert submitit.AutoExecutor is Executor  # as it was
    assert caplog.messages[:2] == ["job 42_0", "job 42_1"]
    assert "submitted 2 jobs" in caplog.messages[2]
    assert "sweep.dir=outputs/cells" in caplog.messages[2]
    assert Sweep.folder is None  # there is no table of runs that have not ended
