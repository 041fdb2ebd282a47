"""The names under which loggers show runs."""

from pathlib import Path

from unrolled.training.loggers.naming import run_name


def test_a_run_that_is_repeated_has_a_name_of_its_own():
    names = {run_name("cgru gru_att", Path("outputs", folder), None) for folder in ("one", "two")}
    assert names == {"cgru gru_att one", "cgru gru_att two"}


def test_a_job_of_a_sweep_is_named_by_its_folder_and_its_sweep():
    assert run_name("cgru", Path("sweep", "seed=1"), "last night") == "seed=1 last night"
