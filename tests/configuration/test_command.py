"""How a command ends: 0, 2 with one line for a user's mistake, 130 when interrupted; what we broke is raised."""

import io
import sys

import pytest

from unrolled.configuration.command import command, remove_if_empty
from unrolled.configuration.process import RESOLVED
from unrolled.errors import UserError


@pytest.fixture
def ended(tmp_path, monkeypatch, capsys):
    """Runs a task as one of several processes of a run does: status, and what was written to stderr."""
    (tmp_path / "config.yaml").write_text("seed: 7\n", encoding="utf-8")
    monkeypatch.setenv(RESOLVED, str(tmp_path / "config.yaml"))
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    monkeypatch.setattr(sys, "argv", ["src/train.py"])

    def run(task):
        status = 0
        try:
            command("train")(task)()
        except SystemExit as end:
            status = end.code
        return status, capsys.readouterr().err

    return run


def fails(problem):
    def task(config):
        raise problem

    return task


def test_a_process_of_a_run_takes_its_configuration_from_the_file(ended):
    seen = []
    assert ended(lambda config: seen.append(config.seed)) == (0, "")
    assert seen == [7]


def test_every_command_keeps_freed_memory_for_its_next_batch(ended, monkeypatch):
    kept = []
    monkeypatch.setattr("unrolled.configuration.command.keep_freed_memory", lambda: kept.append(True))
    ended(lambda config: kept.append(config.seed))
    assert kept == [True, 7]


def test_a_mistake_is_one_line_with_the_script_s_name(ended):
    assert ended(fails(UserError("seed=x: give a number"))) == (2, "train.py: seed=x: give a number\n")


def test_a_mistake_stays_one_line_and_writes_control_characters_out(ended):
    said = ended(fails(UserError("grün\nTraceback \x1b]0;title\x07\u2028: no such option\tだ")))[1]
    assert said == "train.py: grün\\nTraceback \\x1b]0;title\\x07\\u2028: no such option\\tだ\n"


def test_results_are_utf8_in_every_locale(ended, monkeypatch):
    results = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(results, encoding="latin-1"))
    ended(lambda config: sys.stdout.write("grün ∅\n"))
    assert results.getvalue().decode("utf-8") == "grün ∅\n"


def test_only_empty_folders_are_removed_and_never_the_current_one(tmp_path, monkeypatch):
    run = tmp_path / "outputs" / "run"
    run.mkdir(parents=True)
    monkeypatch.chdir(run)
    remove_if_empty(run)
    assert run.exists()
    monkeypatch.chdir(tmp_path)
    (run / "config.yaml").write_text("seed: 1")
    remove_if_empty(run)
    assert (run / "config.yaml").exists()
    (run / "config.yaml").unlink()
    remove_if_empty(run)
    assert not run.parent.exists()


def test_an_interruption_is_130(ended):
    assert ended(fails(KeyboardInterrupt()))[0] == 130


@pytest.mark.parametrize("raised", [UnboundLocalError("old"), UserError("no such option")])
def test_an_interruption_that_a_library_made_another_error_of_is_130(raised, ended):
    def task(config):
        try:
            raise KeyboardInterrupt
        finally:
            raise raised

    assert ended(task) == (130, "")


def test_an_interruption_while_a_command_prepares_is_130(ended, monkeypatch):
    monkeypatch.setattr("unrolled.configuration.command.keep_freed_memory", lambda: fails(KeyboardInterrupt)(None))
    assert ended(lambda config: None) == (130, "")


def test_a_full_disk_is_1(ended):
    status, said = ended(fails(OSError(28, "No space left on device", "run/last.ckpt")))
    assert (status, said.count("\n")) == (1, 1)
    assert "run/last.ckpt" in said


def test_what_we_broke_is_raised(ended):
    with pytest.raises(ZeroDivisionError):
        ended(lambda config: 1 / 0)
