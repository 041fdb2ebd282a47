"""A training that runs out of memory continues with half the batches, as often as it takes."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from unrolled.configuration import launch
from unrolled.configuration.launch import _with_enough_memory
from unrolled.configuration.process import RESOLVED
from unrolled.errors import UserError
from unrolled.runs.results import read_results
from unrolled.runs.resume import LAST, begin
from unrolled.training.ranks import Killed

CONFIG = {"data": {"max_tokens": 101, "module": {"max_tokens": 101}}, "trainer": {"accumulate_grad_batches": 3}}


@pytest.fixture
def alone(monkeypatch):
    """This process trains, and nobody else."""
    monkeypatch.setenv(RESOLVED, "config.yaml")
    monkeypatch.setattr(launch, "started_from_outside", lambda: False)


def out_of_memory(times, problem=torch.OutOfMemoryError, *, begins=False, saves=False):
    """A training that fails ``times`` times, once it has begun and saved a checkpoint, and how it was called."""
    calls = []

    def train(config, folder, *, resume):
        calls.append((config.data.max_tokens, resume))
        if begins:
            begin(folder, f"run_folder: x\nmax_tokens: {config.data.max_tokens}\n", resume=resume)
        if saves:
            (folder / LAST).parent.mkdir(exist_ok=True)
            (folder / LAST).touch()
        if len(calls) <= times:
            raise problem("by a test")
        return {"status": "completed"}

    return train, calls


@pytest.mark.parametrize("saves", [True, False])
def test_it_continues_from_the_last_checkpoint_with_half_the_batches_and_again(alone, saves, tmp_path):
    train, calls = out_of_memory(2, begins=True, saves=saves)
    done = _with_enough_memory(train, OmegaConf.create(CONFIG), tmp_path, resume=False)
    assert (done, calls) == ({"status": "completed"}, [(101, False), (50, saves), (25, saves)])


def test_the_checkpoint_of_an_earlier_run_is_none_of_its_own(alone, tmp_path):
    earlier, _ = out_of_memory(0, begins=True, saves=True)
    earlier(OmegaConf.create(CONFIG), tmp_path, resume=False)
    (tmp_path / "results.json").write_text("of the earlier run", encoding="utf-8")
    train, calls = out_of_memory(2)
    _with_enough_memory(train, OmegaConf.create(CONFIG), tmp_path, resume=False)
    assert calls == [(101, False), (50, False), (25, False)]
    assert (tmp_path / "results.json").read_text(encoding="utf-8") == "of the earlier run"


@pytest.mark.parametrize(
    ("data", "tries", "advice"),
    [({}, 7, "data.max_length"), ({"max_tokens": 1}, 1, "data.max_length"), ({"stream": True}, 1, "data.stream_rows")],
)
def test_where_smaller_batches_do_not_help_that_is_said(alone, data, tries, advice, tmp_path):
    train, calls = out_of_memory(100)
    config = OmegaConf.merge(OmegaConf.create(CONFIG), {"data": data})
    with pytest.raises(UserError, match=advice):
        _with_enough_memory(train, config, tmp_path, resume=False)
    assert len(calls) == tries  # 101 50 25 12 6 3 1


def test_another_error_is_one(alone, tmp_path):
    train, calls = out_of_memory(1, ValueError)
    with pytest.raises(ValueError, match="by a test"):
        _with_enough_memory(train, OmegaConf.create(CONFIG), tmp_path, resume=False)
    assert len(calls) == 1


@pytest.mark.parametrize("begins", [True, False])
def test_a_run_with_a_killed_process_is_interrupted_and_not_failed(begins, tmp_path, monkeypatch):
    """Its sweep resumes it, and no new training removes its checkpoint. An earlier run in the folder is untouched."""

    def killed(*_):  # the others lose their connection, and the first one records a failure
        if begins:
            begin(tmp_path, "run_folder: x\nseed: 2\n", resume=False)
            (tmp_path / "results.json").write_text('{"status": "failed", "steps": 3}', encoding="utf-8")
        raise Killed(1)

    begin(tmp_path, "run_folder: x\nseed: 1\n", resume=False)
    (tmp_path / "results.json").write_text('{"status": "failed"}', encoding="utf-8")
    for name in ("check_training", "check_started", "resolved"):
        monkeypatch.setattr(launch, name, lambda *_: None)
    monkeypatch.setattr(launch, "processes", lambda **_: 2)
    monkeypatch.setattr(launch, "run_ranks", killed)
    monkeypatch.setattr(launch, "to_yaml", str)
    monkeypatch.setattr(launch, "rank_environment", lambda *_, **__: {})
    with pytest.raises(Killed):
        _with_enough_memory(out_of_memory(0)[0], OmegaConf.create(CONFIG), tmp_path, resume=False)
    expected = {"status": "interrupted", "steps": 3} if begins else {"status": "failed"}
    assert read_results(tmp_path) == expected


def test_one_of_several_processes_leaves_it_to_the_one_that_started_it(alone, monkeypatch):
    monkeypatch.setattr(launch, "started_from_outside", lambda: True)
    train, calls = out_of_memory(1)
    with pytest.raises(SystemExit) as ended:
        _with_enough_memory(train, OmegaConf.create(CONFIG), Path("run"), resume=False)
    assert (ended.value.code, len(calls)) == (75, 1)
