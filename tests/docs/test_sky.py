"""docs/sky.yaml, read by SkyPilot itself where it is installed."""

import shlex
from pathlib import Path

import pytest
import yaml

SKY = Path(__file__).parents[2] / "docs" / "sky.yaml"


def test_its_command_is_one_of_ours_that_resumes():
    run = yaml.safe_load(SKY.read_text(encoding="utf-8"))["run"]
    words = shlex.split(run, comments=True)
    assert words[words.index("python") : words.index("python") + 3] == ["python", "src/train.py", "-m"]
    assert any(word.startswith("sweep.dir=/runs/") for word in words)
    assert (SKY.parents[1] / "src" / "train.py").is_file()


def test_skypilot_reads_it():
    sky = pytest.importorskip("sky", reason="SkyPilot is not installed", exc_type=ImportError)
    task = sky.Task.from_yaml(str(SKY))
    assert task.envs["OPTIONS"] == "model=cgru attention=gru_att"
    assert all(resources.use_spot for resources in task.resources)
    assert "/runs" in task.storage_mounts
