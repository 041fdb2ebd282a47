"""The Dockerfile's steps, without Docker: what they copy is there and enough, and what they run is ours.

UNROLLED_DOCKERFILE=1 runs them as they are, in a fresh environment: minutes, and gigabytes.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.scripts import ROOT

STEPS = [
    line.split(maxsplit=1)
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def of(name: str) -> list[str]:
    return [rest for step, rest in STEPS if step == name]


def copies() -> list[str]:
    return [source for step in of("COPY") for source in shlex.split(step)[:-1]]


def test_it_copies_what_the_wheel_is_made_of_and_the_context_has_it():
    needed = ["LICENSE", "MANIFEST.in", "README.md", "conf", "docs", "pyproject.toml", "setup.py", "src"]
    assert sorted(copies()) == needed
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == set(copies())
    assert "*" in ignored


def test_the_package_can_be_built_of_what_it_copies(tmp_path):
    for name in copies():
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    build = [sys.executable, "setup.py", "-q", "build_py", "-d", "built"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "built" / "unrolled" / "conf" / "train.yaml").is_file()


def test_it_installs_the_torch_that_the_package_wants_and_an_extra_that_there_is():
    (wanted,) = [need for need in PROJECT["dependencies"] if need.startswith("torch")]
    assert f'"{wanted}"' in of("RUN")[0]
    (extra,) = re.findall(r"/source\[(\w+)\]", of("RUN")[1])
    assert extra in PROJECT["optional-dependencies"]


def test_it_runs_the_installed_command_on_a_python_that_the_package_takes():
    assert json.loads(*of("ENTRYPOINT"))[0] in PROJECT["scripts"]
    (image,) = of("FROM")
    minor = int(re.fullmatch(r"python:3\.(\d+)-slim", image)[1])
    low, high = map(int, re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups())
    assert low <= minor < high


def test_every_step_is_one_that_is_known_here():
    assert {step for step, _ in STEPS} <= {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "ENTRYPOINT", "CMD"}


@pytest.mark.skipif(not os.environ.get("UNROLLED_DOCKERFILE"), reason="takes minutes: UNROLLED_DOCKERFILE=1 runs it")
def test_its_steps_make_an_environment_that_trains(tmp_path):
    """All steps in their order; /source and /unrolled are folders here, and python is a fresh environment's."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    inside = {
        **os.environ,
        "PATH": f"{tmp_path / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "WANDB_MODE": "offline",
    }
    where: Path = tmp_path
    for step, rest in STEPS:
        rest = re.sub(r"(?<![\w.])/(source|unrolled)\b", rf"{tmp_path}/\1", rest)
        if step == "RUN":
            subprocess.run(["bash", "-euc", rest], cwd=where, env=inside, check=True)
        elif step == "COPY":
            *sources, place = shlex.split(rest)
            for source in sources:
                to = Path(place) / source if place.endswith("/") else Path(place)
                to.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (ROOT / source).is_dir() else shutil.copy)(ROOT / source, to)
        elif step == "WORKDIR":
            where = Path(rest)
        elif step == "ENV":
            inside |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif step == "ENTRYPOINT":
            command = json.loads(rest)
    small = ["data=demo", "data.demo.pairs=200", "trainer.max_epochs=1", "hydra.run.dir=outputs/run"]
    subprocess.run([*command, "train", *small], cwd=where, env=inside, check=True)
    assert json.loads((tmp_path / "unrolled/outputs/run/results.json").read_text())["status"] == "completed"
