"""Which W&B run a resumed training continues, and whether there is a key. What is logged: tests/commands."""

import os

import pytest

from unrolled.errors import UserError
from unrolled.training.loggers import wandb
from unrolled.training.loggers.wandb import chosen_mode, earlier_run, has_wandb_key, keep_in


@pytest.fixture
def no_key(monkeypatch, tmp_path):
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    return tmp_path / "netrc"


def test_without_a_key_there_is_none(no_key):
    assert not has_wandb_key()
    no_key.write_text("machine example.org login user password secret\n")
    assert not has_wandb_key()
    no_key.write_text("this is no netrc\n")
    assert not has_wandb_key()


def test_a_key_is_in_the_environment_or_in_netrc(no_key, monkeypatch):
    no_key.write_text("machine api.wandb.ai login user password secret\n")
    assert has_wandb_key()
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org:8080")
    assert not has_wandb_key()
    no_key.write_text("machine wandb.example.org login user password secret\n")
    assert has_wandb_key()
    no_key.unlink()
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert has_wandb_key()


def test_the_environment_decides_where_the_options_do_not(no_key, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert chosen_mode("auto") == "offline"
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    assert chosen_mode("auto") == "online"
    monkeypatch.setenv("WANDB_MODE", "dryrun")
    assert chosen_mode("auto") == "offline"
    assert chosen_mode("disabled") == "disabled"
    monkeypatch.setenv("WANDB_MODE", "ofline")
    with pytest.raises(UserError, match="WANDB_MODE=ofline in the environment is unknown; did you mean offline"):
        chosen_mode("auto")


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
