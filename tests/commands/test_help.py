"""--help and --version: what a command does and takes, in words from its docstring and from conf/."""

import re
import shlex
from importlib.metadata import version

import pytest
from hydra import compose, initialize_config_dir
from support.composed_once import composed_once
from support.conf import CONF
from support.scripts import ROOT, call_script

from unrolled import __version__

COMMANDS = sorted(path.stem for path in (ROOT / "src").glob("*.py"))


def paragraph(text, label):
    """The lines of a paragraph, those continued by a backslash joined."""
    (found,) = [part for part in text.split("\n\n") if part.startswith(label)]
    return [" ".join(line.split()) for line in found.replace("\\\n", "").splitlines()[1:]]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_one_screen_of_our_own(command, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    done = call_script(f"{command}.py", "--help", cwd=tmp_path)
    assert (done.status, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 60
    assert "hydra" not in done.stdout.lower()
    assert paragraph(done.stdout, "Usage:")[0].startswith(f"python src/{command}.py")
    examples = paragraph(done.stdout, "Examples:")
    assert len(examples) in (3, 4)
    if (CONF / f"{command}.yaml").exists():
        assert len(paragraph(done.stdout, "Options")) > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_can_be_given(command, tmp_path):
    """Their options exist, and their choices."""
    for line in paragraph(call_script(f"{command}.py", "--help", cwd=tmp_path).stdout, "Examples:"):
        script, *words = shlex.split(re.split(r" [|<>] ", line)[0])[1:]
        assert (ROOT / script).is_file()
        if script == "src/options.py":
            assert call_script("options.py", *words, cwd=tmp_path).status == 0
            continue
        if "--config-dir" in words:
            continue  # of a folder that is not there
        overrides = [word.partition(",")[0] if "-m" in words else word for word in words if word != "-m"]
        with composed_once(), initialize_config_dir(str(CONF), version_base="1.3"):
            assert compose((ROOT / script).stem, overrides)


def test_help_is_as_wide_as_the_terminal(tmp_path, monkeypatch):
    for terminal, widest in {"80": 80, "40": 80, "200": 100}.items():
        monkeypatch.setenv("COLUMNS", terminal)
        lines = call_script("train.py", "--help", cwd=tmp_path).stdout.splitlines()
        assert widest - 10 < max(map(len, lines)) <= widest


def test_a_mistake_among_the_choices_is_told_as_ever(tmp_path):
    done = call_script("train.py", "--help", "model=cgur", cwd=tmp_path)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr == "train.py: model=cgur: there is no such choice; did you mean cgru?\n"


def test_the_version_is_ours(tmp_path):
    done = call_script("train.py", "--version", cwd=tmp_path)
    assert done == (0, f"unrolled {__version__}, torch {version('torch')}\n", "")
