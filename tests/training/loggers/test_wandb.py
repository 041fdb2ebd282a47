"""Which W&B run a resumed training continues, and where W&B keeps files. What is logged: tests/commands."""

import os

import pytest

from unrolled.errors import UserError
from unrolled.training.loggers import lean_wandb, wandb
from unrolled.training.loggers.wandb import earlier_run, keep_in


def test_what_w_and_b_refuses_is_a_mistake_with_a_way_out(tmp_path, monkeypatch):
    real = lean_wandb.import_wandb()

    def refuse(**_):
        raise real.errors.AuthenticationError("The API key is\nnot valid")

    monkeypatch.setattr(real, "init", refuse)
    options = {"project": "p", "entity": None, "name": "n", "group": None, "tags": [], "mode": "online"}
    with pytest.raises(UserError, match=r"Biases says: The API key is not valid; give logger\.wandb\.mode=offline"):
        wandb.wandb_logger(folder=str(tmp_path), resume=False, **options)


def test_what_belongs_in_a_home_that_is_not_writable_is_with_the_run(tmp_path, monkeypatch):
    """As in a container that runs under the number of a user who has no home there."""
    monkeypatch.setattr(wandb, "_KEPT", set())
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR"):
        monkeypatch.setenv(name, "mine")
    (tmp_path / "file").touch()
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))  # nobody can make a folder in it
    keep_in(tmp_path / "a")
    assert os.environ["WANDB_DATA_DIR"] == "mine"
    monkeypatch.delenv("WANDB_DATA_DIR")
    keep_in(tmp_path / "a")
    assert os.environ["WANDB_DATA_DIR"] == str(tmp_path / "a" / "home")
    keep_in(tmp_path / "b")  # the next run of a sweep
    assert os.environ["WANDB_DATA_DIR"] == str(tmp_path / "b" / "home")
    assert os.environ["WANDB_CACHE_DIR"] == "mine"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "writable"))
    keep_in(tmp_path / "c")
    assert "WANDB_DATA_DIR" not in os.environ


def test_a_training_goes_on_with_the_last_run_of_its_folder(tmp_path):
    assert earlier_run(tmp_path) is None
    pieces = ["offline-run-20260102_030405-first", "run-20260302_030405-last", "offline-run-20260203_030405-second"]
    for piece in pieces:
        write_piece(tmp_path, piece, piece.rpartition("-")[2])
    assert earlier_run(tmp_path) == "last"


def test_a_run_that_was_resumed_in_the_same_second_keeps_its_id(tmp_path):
    """W&B puts a number after the name of the second folder."""
    for number in ("", "-1"):
        write_piece(tmp_path, f"offline-run-20260302_030405-last{number}", "last")
    assert earlier_run(tmp_path) == "last"


def write_piece(folder, name, identity):
    (folder / "wandb" / name).mkdir(parents=True)
    (folder / "wandb" / name / f"run-{identity}.wandb").touch()
