"""Where hydra.mode may be set, all is composed to see; elsewhere nothing is."""

import sys
from unittest.mock import Mock, patch

import pytest
from hydra._internal.hydra import Hydra
from hydra.types import RunMode
from support.scripts import ROOT

from unrolled.configuration.mode import may_be_set, mode_seen_in_words


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """conf/ of the user, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    return folder


def test_of_ours_only_sweeps_set_it():
    files = [file for file in (ROOT / "conf").rglob("*.yaml") if "mode: MULTIRUN" in file.read_text(encoding="utf-8")]
    assert files
    assert {file.parent.name for file in files} == {"sweep"}


@pytest.mark.parametrize("word", ["sweep=memory", "+sweep=optuna", "hydra.mode=MULTIRUN", "hydra={mode: MULTIRUN}"])
def test_a_word_may_set_it(word):
    assert may_be_set(["seed=1", word], [])


def test_other_words_and_a_plain_conf_do_not(conf):
    (conf / "mine.yaml").write_text("# @package _global_\nseed: 3\nobjective:\n  mode: min\n", encoding="utf-8")
    assert not may_be_set(["seed=1,2", "hydra.run.dir=RUN", "sweep.dir=DIR", "hydra/launcher=joblib"], ["-m", "seed=1"])


@pytest.mark.parametrize(
    "text", ["hydra:\n  mode: MULTIRUN\n", "hydra: {mode: MULTIRUN}\n", "defaults:\n  - override /sweep: memory\n"]
)
def test_conf_of_the_user_may_set_it(conf, text):
    (conf / "mine.yaml").write_text(text, encoding="utf-8")
    assert may_be_set([], [])


def test_a_file_that_cannot_be_read_may_set_it(conf):
    (conf / "mine.yaml").symlink_to("nowhere")
    assert may_be_set([], [])


@pytest.mark.parametrize("flag", ["--config-dir=more", "-cd", "--config-name", "-cn"])
def test_other_configurations_may_set_it(flag):
    assert may_be_set([], [flag])


def test_hydra_is_asked_only_then_and_is_as_before_afterwards():
    before = Hydra.get_mode
    hydra = Mock(**{"compose_config.return_value.hydra.mode": RunMode.MULTIRUN})
    with patch.object(sys, "argv", ["train.py"]), mode_seen_in_words():
        assert Hydra.get_mode(hydra, "train", ["seed=1"]) is None
        hydra.compose_config.assert_not_called()
        assert Hydra.get_mode(hydra, "train", ["sweep=memory"]) is RunMode.MULTIRUN
    assert Hydra.get_mode is before
