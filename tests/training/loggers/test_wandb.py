"""Which W&B run a resumed training continues, and whether there is a key. What is logged: tests/commands."""

import pytest

from unrolled.training.loggers.wandb import earlier_run, has_wandb_key


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


def test_a_training_goes_on_with_the_last_run_of_its_folder(tmp_path):
    assert earlier_run(tmp_path) is None
    for name in ("offline-run-20260102_030405-first", "run-20260302_030405-last", "offline-run-20260203_030405-second"):
        (tmp_path / "wandb" / name).mkdir(parents=True)
    assert earlier_run(tmp_path) == "last"
