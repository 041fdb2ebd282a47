"""A run goes to W&B's server if there is a key, and the server can be reached."""

import socket

import pytest

from unrolled.errors import UserError
from unrolled.training.loggers.wandb_mode import chosen_mode, has_wandb_key


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


@pytest.fixture
def server(monkeypatch):
    """A server of W&B that answers."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{listening.getsockname()[1]}")
        yield listening


def test_the_environment_decides_where_the_options_do_not(no_key, server, monkeypatch):
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


def test_a_server_that_does_not_answer_is_not_waited_for(no_key, server, monkeypatch, caplog):
    """As on the machines of a cluster that have no way out, where W&B would end the training after 90 seconds."""
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    server.close()
    assert chosen_mode("auto") == "offline"
    assert "127.0.0.1 cannot be reached" in caplog.text
    assert chosen_mode("online") == "online"
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert chosen_mode("auto") == "offline"
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # which W&B will ask
    assert chosen_mode("auto") == "online"
