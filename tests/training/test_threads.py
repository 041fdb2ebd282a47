"""How many threads there are, and how long they wait for each other."""

import os
import subprocess
import sys

import pytest
from support.scripts import ROOT

from unrolled.training import threads
from unrolled.training.threads import cores, wait_briefly


@pytest.mark.parametrize(
    ("given", "spins"), [({}, threads.SPINS), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_how_long_threads_wait_is_the_users_own_setting_where_there_is_one(given, spins, monkeypatch):
    for name in threads.GIVEN:
        monkeypatch.setenv(name, "")  # so that it is as before afterwards
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    wait_briefly()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


def test_the_cores_are_those_that_the_process_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 8}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cores() == 64


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP is that of PyTorch for Linux")
def test_a_command_sets_it_before_torch_is_there():
    environment = {name: value for name, value in os.environ.items() if name not in threads.GIVEN}
    shown = subprocess.run(
        [sys.executable, str(ROOT / "src" / "average.py"), "run=none"],
        env=environment | {"OMP_DISPLAY_ENV": "verbose"},  # a wish to GNU OpenMP, which torch brings with it
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"GOMP_SPINCOUNT = '{threads.SPINS}'" in shown.stderr
