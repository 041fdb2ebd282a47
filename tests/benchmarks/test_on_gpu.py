"""The script for a GPU says in one line what it lacks, before it measures anything."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "on_gpu.sh"
FILES = [f"{split}.{language}" for split in ("train", "val", "test_2016_flickr") for language in ("en", "de")]


def said(folder, *arguments, python="exit 1"):
    """Standard error and the status of the script where ``python`` is a program of these lines."""
    program = folder / "bin" / "python"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{python}\n")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    command = ["bash", str(SCRIPT), *arguments]
    environment = {"PATH": path, "DEVICE": "cuda"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stderr, done.returncode


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    for name in FILES:
        (tmp_path / "data" / name).write_text("a\n")
    return tmp_path / "data"


def test_it_asks_for_its_folders(tmp_path):
    assert said(tmp_path) == ("on_gpu.sh: name two folders: bash benchmarks/on_gpu.sh DATA OUT\n", 2)


def test_it_names_a_text_that_is_missing(data, tmp_path):
    (data / "val.de").unlink()
    what = "data/val.de: there is no such file; name the folder of Multi30k, lowercased and tokenised"
    assert said(tmp_path, "data", "out") == (f"on_gpu.sh: {what}\n", 2)


def test_without_a_gpu_nothing_is_tried(data, tmp_path):
    line, status = said(tmp_path, "data", "out")
    assert "PyTorch finds no GPU here: DEVICE=cpu SHORT=1" in line
    assert status == 2
    assert not (tmp_path / "out").exists()


def test_text_that_cannot_be_prepared_ends_it(data, tmp_path):
    line, status = said(tmp_path, "data", "out", python='case "$1" in -c) exit 0 ;; esac; echo no room; exit 1')
    assert (line.splitlines()[-1], status) == ("on_gpu.sh: the text cannot be prepared: no room", 2)
