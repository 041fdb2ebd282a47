"""What W&B is imported without, and that whoever uses it still has it."""

import subprocess
import sys
from importlib.metadata import distributions
from types import SimpleNamespace

from support.scripts import ROOT

from unrolled.training.loggers import lean_wandb

STARTED = """
import sys, time
from pathlib import Path
sys.path.insert(0, {src!r})
from unrolled.training.loggers.lean_wandb import import_wandb
from pydantic._internal import _fields
read = _fields._update_fields_from_docstrings
wandb = import_wandb()
assert import_wandb() is wandb is sys.modules["wandb"]
assert _fields._update_fields_from_docstrings is read
from unrolled.training.loggers.wandb import wandb_logger
options = dict(project="p", entity=None, name="n", group=None, tags=[], mode="offline", resume=False)
run = wandb_logger(folder={folder!r}, **options).experiment
run.log({{"loss": 1.0}})
assert "wandb.sdk.launch" not in sys.modules, "imported by every run"
assert "opentelemetry.exporter" not in sys.modules, "an offline run sends nothing"
from wandb.sdk.lib.service import service_port_file
start = time.monotonic()
service_port_file._SLEEP(9)  # between two looks for the service
assert time.monotonic() - start < 5
run.finish()
assert f"wandb=={{wandb.__version__}}" in next(Path({folder!r}).glob("wandb/*/files/requirements.txt")).read_text()
"""


def test_an_offline_run_starts_without_launch_and_telemetry_and_leaves_pydantic_as_it_was(tmp_path):
    code = STARTED.format(src=str(ROOT / "src"), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))


def test_inputs_are_looked_for_if_launch_is_imported(monkeypatch):
    looked = []
    kind = type("Run", (), {lean_wandb.LOOK: lambda self: looked.append(self)})
    lean_wandb._look_for_inputs_of_launch_alone(kind)
    run = kind()
    monkeypatch.delitem(sys.modules, lean_wandb.LAUNCH, raising=False)
    getattr(run, lean_wandb.LOOK)()
    assert looked == []
    monkeypatch.setitem(sys.modules, lean_wandb.LAUNCH, SimpleNamespace())
    getattr(run, lean_wandb.LOOK)()
    assert looked == [run]


def test_another_version_of_w_and_b_is_left_as_it_is():
    kind = type("Run", (), {})
    lean_wandb._look_for_inputs_of_launch_alone(kind)
    assert not hasattr(kind, lean_wandb.LOOK)


def test_installed_packages_are_those_that_a_full_look_at_their_metadata_finds():
    assert list(lean_wandb.installed(lambda key, version: (key, version))) == [
        (package.metadata["Name"], package.version)
        for package in distributions()
        if package.metadata["Name"] and package.version
    ]


def test_packages_without_metadata_a_name_or_letters_are_no_mistake(monkeypatch):
    class Package:
        def __init__(self, **files):
            self.files = files

        def read_text(self, name):
            return self.files.get(name.replace("-", ""), b"").decode()

    described = b"Metadata-Version: 2.4\nName: a\nVersion: 1\n\nVersion: 2\n"
    packages = [Package(), Package(METADATA=b"Name: b\n"), Package(METADATA=b"\xff"), Package(PKGINFO=described)]
    monkeypatch.setattr(lean_wandb, "distributions", lambda: packages)
    assert list(lean_wandb.installed(lambda key, version: (key, version))) == [("a", "1")]
