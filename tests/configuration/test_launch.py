"""A training that runs out of memory is tried once more with half the batches."""

from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from unrolled.configuration import launch
from unrolled.configuration.jobs import RESOLVED
from unrolled.configuration.launch import _with_enough_memory

CONFIG = {"data": {"max_tokens": 101, "module": {"max_tokens": 101}}, "trainer": {"accumulate_grad_batches": 3}}


@pytest.fixture
def alone(monkeypatch):
    """This process trains, and nobody else."""
    monkeypatch.setenv(RESOLVED, "config.yaml")
    monkeypatch.setattr(launch, "started_from_outside", lambda: False)


def out_of_memory(times, problem=torch.OutOfMemoryError):
    """A training that fails ``times`` times, and how it was called."""
    calls = []

    def train(config, folder, *, resume):
        calls.append((config.data.max_tokens, resume))
        if len(calls) <= times:
            raise problem("by a test")
        return {"status": "completed"}

    return train, calls


def test_it_is_tried_once_more_from_the_beginning(alone):
    train, calls = out_of_memory(1)
    done = _with_enough_memory(train, OmegaConf.create(CONFIG), Path("run"), resume=True)
    assert (done, calls) == ({"status": "completed"}, [(101, True), (50, False)])


@pytest.mark.parametrize(
    ("times", "problem", "tokens"),
    [(2, torch.OutOfMemoryError, 101), (1, ValueError, 101), (1, torch.OutOfMemoryError, 1)],
    ids=["twice", "another problem", "no smaller batch"],
)
def test_anything_else_is_an_error(alone, times, problem, tokens):
    train, calls = out_of_memory(times, problem)
    config = OmegaConf.merge(OmegaConf.create(CONFIG), {"data": {"max_tokens": tokens}})
    with pytest.raises(problem):
        _with_enough_memory(train, config, Path("run"), resume=False)
    assert len(calls) == times


def test_one_of_several_processes_leaves_it_to_the_one_that_started_it(alone, monkeypatch):
    monkeypatch.setattr(launch, "started_from_outside", lambda: True)
    train, calls = out_of_memory(1)
    with pytest.raises(SystemExit) as ended:
        _with_enough_memory(train, OmegaConf.create(CONFIG), Path("run"), resume=False)
    assert (ended.value.code, len(calls)) == (75, 1)
