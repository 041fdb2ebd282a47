"""How long threads wait for each other."""

import os
import subprocess
import sys

import pytest
from support.scripts import ROOT

from unrolled.training import waiting


@pytest.mark.parametrize(
    ("given", "spins"), [({}, waiting.SPINS), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)]
)
def test_the_users_own_setting_stays(given, spins, monkeypatch):
    for name in waiting.GIVEN:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    waiting.wait_briefly()
    assert os.environ.get("GOMP_SPINCOUNT") == spins


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="GNU OpenMP is that of PyTorch for Linux")
def test_a_command_sets_it_before_torch_is_there():
    environment = {name: value for name, value in os.environ.items() if name not in waiting.GIVEN}
    shown = subprocess.run(
        [sys.executable, str(ROOT / "src" / "average.py"), "run=none"],
        env=environment | {"OMP_DISPLAY_ENV": "verbose"},  # a wish to GNU OpenMP, which torch brings with it
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"GOMP_SPINCOUNT = '{waiting.SPINS}'" in shown.stderr
