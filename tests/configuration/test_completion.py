"""What the shell is told may come next; tests/test_wheel.py asks bash itself."""

import sys

import pytest
from support.conf import choices

from unrolled.configuration.completion import complete


@pytest.fixture
def completed(monkeypatch, capsys):
    def ask(line):
        monkeypatch.setattr(sys, "argv", ["unrolled"])
        monkeypatch.setenv("COMP_LINE", line)
        complete(["options", "train", "translate"], "query=bash")
        return capsys.readouterr().out.split()

    return ask


def test_commands_come_first(completed):
    assert completed("unrolled tr") == ["options", "train", "translate"]
    assert completed("unrolled ") == ["options", "train", "translate"]


def test_fish_reads_a_word_a_line(monkeypatch, capsys):
    for line, words in (("unrolled tr", ["options", "train"]), ("unrolled train model=cg", ["model=cgru"])):
        monkeypatch.setattr(sys, "argv", ["unrolled"])
        monkeypatch.setenv("COMP_LINE", line)
        complete(["options", "train"], "query=fish")
        assert capsys.readouterr().out.splitlines() == words


def test_then_the_groups_choices_and_options_of_that_command(completed):
    assert completed("unrolled train model=") == [f"model={name}" for name in choices("model")]
    assert completed("unrolled train seed=2 model=cg") == ["model=cgru"]
    assert "search.beam_size=" in completed("unrolled translate search.")
    assert completed("unrolled options model=cg") == ["model=cgru"]  # it lists train's


def test_the_shell_is_told_how_to_ask(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["unrolled"])
    complete([], "install=bash")
    assert capsys.readouterr().out.splitlines()[-1].endswith("-F hydra_bash_completion unrolled")
