"""What a benchmark says of a file or a folder that is missing."""

import argparse
import runpy
import sys
from pathlib import Path

import pytest
from paths import TRANSLATIONS, existing, holding

ROOT = Path(__file__).resolve().parents[2]


def test_a_path_that_is_there(tmp_path):
    (tmp_path / "translations").mkdir()
    (tmp_path / TRANSLATIONS).touch()
    assert existing(str(tmp_path)) == holding(TRANSLATIONS)(str(tmp_path)) == tmp_path


def test_all_missing_files_are_named(tmp_path):
    (tmp_path / "test.in").touch()
    with pytest.raises(argparse.ArgumentTypeError, match=r"has no train\.in, test\.out"):
        holding("train.in", "test.in", "test.out")(str(tmp_path))


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("nacs", ["--data", "none", "run"]),
        ("scan_halves", ["--data", "none", "run"]),
        ("one_table", ["none"]),
        ("updates_to_learn", ["--data", "none", "--output", "x"]),
        ("another_test_text", ["--test", "none", "none", "--output", "x", "run"]),
        ("small_models", ["--data", "none"]),
        ("small_batches", ["--data-root", "none"]),
        ("yoyodyne_speed", ["--data-root", "none"]),
        ("scaling", ["--data-root", "none"]),
        ("search", ["--data-root", "none"]),
        ("search_steps", ["--data-root", "none"]),
        ("data", ["--data-root", "none"]),
        ("time_to_bleu", ["--data", "none", "--folder", "x"]),
    ],
)
def test_a_benchmark_says_which_path_is_missing(script, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *arguments])
    monkeypatch.setattr(sys, "path", sys.path.copy())
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "benchmarks" / f"{script}.py"), run_name="__main__")
    assert ended.value.code == 2
    assert "none: there is no such file or folder" in capsys.readouterr().err.splitlines()[-1]


def test_too_few_steps_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["small_models.py", "--data", str(tmp_path), "--steps", "25"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(ROOT / "benchmarks" / "small_models.py"), run_name="__main__")
    assert "give at least 50" in capsys.readouterr().err
