"""Which folder a job of a sweep has: wherever it was first trained."""

import re

import pytest
import yaml
from omegaconf import DictConfig

from unrolled.configuration.composition import composing
from unrolled.configuration.jobs import this_job
from unrolled.configuration.sweep import another_folder, is_job, sweep_of
from unrolled.errors import UserError


def job(folder, seed, **changes):
    return {
        "run_folder": str(folder),
        "seed": seed,
        "overrides": [f"seed={seed}"],
        "data": {"max_tokens": 100, "module": {"max_tokens": 100, "cache": "mine"}},
        "trainer": {"accumulate_grad_batches": 1},
        "logger": {"csv": {"folder": str(folder), "group": folder.parent.name}},
        "sweep": {"dir": str(folder.parent), "wait": True},
        **changes,
    }


def saved(job):
    """The job, with its folder."""
    folder = job["run_folder"]
    with open(f"{folder}/config.yaml", "w", encoding="utf-8") as file:
        yaml.safe_dump(job, file)


@pytest.fixture
def sweep(tmp_path):
    for name in ("0-seed1", "1-seed2"):
        (tmp_path / "sweep" / name).mkdir(parents=True)
    return tmp_path / "sweep"


def test_a_job_is_the_same_wherever_the_sweep_is(sweep, tmp_path):
    moved = tmp_path / "moved" / "0-seed1"
    again = job(moved, 1, overrides=["seed=1", "cache=yours"], sweep={"dir": str(moved.parent), "wait": False})
    assert is_job(job(sweep / "0-seed1", 1), DictConfig(again))
    assert not is_job(job(sweep / "0-seed1", 1), DictConfig(job(moved, 2)))
    assert sweep_of(again) == str(moved.parent)


def test_a_job_that_ran_out_of_memory_is_the_same(sweep):
    folder = sweep / "0-seed1"
    less = {"data": {"max_tokens": 50, "module": {"max_tokens": 50, "cache": "mine"}}}
    assert is_job(job(folder, 1, **less, trainer={"accumulate_grad_batches": 2}), DictConfig(job(folder, 1)))
    assert not is_job(job(folder, 1, **less), DictConfig(job(folder, 1)))


def test_a_job_is_found_under_its_earlier_number(sweep):
    saved(job(sweep / "0-seed1", 1))
    assert another_folder(sweep / "0-seed1", DictConfig(job(sweep / "0-seed1", 1))) is None
    assert another_folder(sweep / "1-seed2", DictConfig(job(sweep / "1-seed2", 2))) is None
    later = sweep / "2-seed1"
    assert another_folder(later, DictConfig(job(later, 1))) == sweep / "0-seed1"


def test_a_new_value_gets_a_free_folder_and_another_sweep_does_not(sweep):
    saved(job(sweep / "0-seed1", 1))
    new = another_folder(sweep / "0-seed1", DictConfig(job(sweep / "0-seed1", 3)))
    assert new.name.startswith("0-seed1-")
    other = job(
        sweep / "0-seed1", 1, trainer={"accumulate_grad_batches": 4}, overrides=["trainer.accumulate_grad_batches=4"]
    )
    assert another_folder(sweep / "0-seed1", DictConfig(other)) is None


@pytest.mark.parametrize(
    "option", ["sweep.dir=DIR", "++sweep.wait=false", "hydra/launcher=joblib", "hydra.sweep.dir=DIR"]
)
def test_an_option_of_sweeps_is_refused_for_a_single_run(option):
    with (
        composing("train", ["seed=1", option]) as config,
        pytest.raises(UserError, match=re.escape(f"{option}: only a sweep has this: begin the options with -m")),
    ):
        this_job(config)


def test_a_launcher_is_refused_for_a_run_that_is_resumed():
    with (
        composing("train", ["resume=RUN", "hydra/launcher=joblib"]) as config,
        pytest.raises(UserError, match=r"^hydra/launcher=joblib: only a sweep has this"),
    ):
        this_job(config)


def test_a_choice_of_sweep_may_be_given_for_a_single_run():
    with composing("train", ["seed=1", "sweep=default"]) as config:
        assert not this_job(config).resume
