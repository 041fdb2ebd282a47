"""Which process this is."""

from pathlib import Path

from omegaconf import OmegaConf

from unrolled.configuration import process
from unrolled.configuration.jobs import this_job

CONFIG = OmegaConf.create({"run_folder": "run"})


def test_a_process_knows_the_run_it_is_one_of(monkeypatch):
    assert not process.is_child()
    for name, text in process.rank_environment(Path("run"), resume=True).items():
        monkeypatch.setenv(name, text)
    assert process.is_child()
    assert this_job(CONFIG).resume
    monkeypatch.setenv(process.RESUMED, "")
    assert not this_job(CONFIG).resume


def test_it_knows_whether_the_command_began_in_it(monkeypatch):
    monkeypatch.setattr(process, "_started", [])
    assert process.launched_elsewhere()
    process.begin_here()
    assert not process.launched_elsewhere()
