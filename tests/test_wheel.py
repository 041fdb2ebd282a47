"""What a wheel holds, and the command that it installs: in an environment and a folder away from the repository.

The sweep is a program of that environment; the other trainings, and the processes that one of them starts, are copies
of this process that have the wheel's files instead of ours, as a new interpreter takes seconds to import PyTorch.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from support.interpreters import interpreters
from support.scripts import ROOT, SHORT, TINY, TINY_MODEL, results
from support.shell import run_in_shell

pytestmark = pytest.mark.slow

SMALL = [*TINY, *SHORT, *TINY_MODEL, "logger=csv", "trainer.max_epochs=1"]
SMALL += ["~callbacks.pictures", "~callbacks.attention_record"]
PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "conf", "docs", "src")
NOT_THEIRS = ("PYTHON", "WANDB", "UNROLLED", "COLUMNS")


def done(command, cwd, status=0, text="", **environment):
    """Run it as somebody who knows nothing of the repository; the test fails if it does not end with ``status``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(NOT_THEIRS)}
    words = [str(word) for word in command]
    ended = subprocess.run(
        words, cwd=cwd, env=clean | environment, input=text, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == status, f"{words}: {ended.returncode}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
    return ended


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """The python of an environment with nothing but our setuptools: pip would install one in seconds."""
    place = tmp_path_factory.mktemp("builder")
    done([sys.executable, "-m", "venv", "--without-pip", place], place)
    (packages,) = place.glob("lib/python3*/site-packages")
    setuptools = distribution("setuptools")
    for name in {file.parts[0] for file in setuptools.files or []} - {".."}:
        (packages / name).symlink_to(Path(str(setuptools.locate_file(name))))
    return place / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(builder, tmp_path_factory):
    """The wheel, built from a copy of the files that it is made from, by no more than it says that it needs."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / part, copy)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--check-build-dependencies", "--wheel-dir", built]
    done([sys.executable, "-m", "pip", "--python", builder, "wheel", *options, copy], built)
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Programs of a new environment with the wheel in it, which finds our dependencies, but nothing of ours."""
    place = tmp_path_factory.mktemp("environment")
    done([sys.executable, "-m", "venv", "--without-pip", place], place)
    install = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet", "--no-compile"]
    done([*install, "--no-deps", "--no-index", wheel], place)
    (packages,) = place.glob("lib/python3*/site-packages")
    others = [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    (packages / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in others), encoding="utf-8")
    return place / "bin"


@pytest.fixture
def call(installed, tmp_path):
    """Call a command line in a folder; ``unrolled`` and ``python -m unrolled`` are those of the wheel."""
    (packages,) = installed.parent.glob("lib/python3*/site-packages")
    clean = {name: value for name, value in os.environ.items() if not name.startswith((*NOT_THEIRS, "PYTEST"))}
    clean |= {"OMP_NUM_THREADS": "1", "NETRC": os.devnull}

    def run(line, *options, status=0, python=None):
        line = " ".join([line, *options])
        place = {"folder": tmp_path.parent / "shell", "installed": packages, "python": python}
        ended = run_in_shell(line, cwd=tmp_path, environment=clean, **place)
        assert ended.status == status, f"{line}: {ended.status}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
        return ended

    return run


def test_it_holds_all_of_conf_docs_and_the_package(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.parent != ROOT / "src"]
    ours = {path.relative_to(ROOT / "src").as_posix() for path in package if "__pycache__" not in path.parts}
    ours = {name for name in ours if ".egg-info/" not in name}
    others = [*(ROOT / "conf").rglob("*.yaml"), *(ROOT / "docs").rglob("*.*")]
    others = [path for path in others if path.suffix not in (".py", ".pyc")]
    more = {f"unrolled/{path.relative_to(ROOT).as_posix()}" for path in others}
    assert names == ours | more
    assert {name.partition("/")[0] for name in names} == {"unrolled", "hydra_plugins"}  # no train.py for all to import


def test_the_command_trains_resumes_reproduces_and_translates_anywhere(installed, call, tmp_path):
    done(["git", "init", "--quiet", "."], tmp_path)  # whose commit is not ours
    run = tmp_path / "run"
    short = ["model=cgru", "attention=gru_att", *SMALL, "hydra.run.dir=run"]
    assert "test/bleu" in call("unrolled train", *short).stdout
    assert results(run)["status"] == "completed"
    provenance = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["git"] is None
    assert provenance["command"] == ["unrolled", "train", *short]
    where = done([installed / "python", "-c", "import unrolled; print(unrolled.__file__)"], tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert done([installed / "unrolled", "--version"], tmp_path).stdout.startswith("unrolled ")
    pages = done([installed / "unrolled", "--help"], tmp_path).stdout.splitlines()[-1].strip()
    assert Path(pages).is_relative_to(installed.parent)
    assert (Path(pages) / "training.md").is_file()  # which a message of training names

    call("unrolled train resume=run trainer.max_epochs=2")
    assert results(run)["epochs"] == 2
    assert "identical" in call("unrolled train reproduce=run").stdout
    assert (tmp_path / "outputs").is_dir()  # the reproduction's run folder, and the cache
    assert len(call("printf 'a b\\nc\\n' | python -m unrolled translate run=run").stdout.splitlines()) == 2
    said = call("python -m unrolled translate", status=2).stderr
    assert said.startswith("python -m unrolled translate: run=... is missing")


def test_jobs_of_a_sweep_in_processes_of_their_own(installed, tmp_path):
    """From a fresh interpreter: a copy of one that has used joblib would wait for processes that it does not have.

    And so that ``unrolled`` trains, in an environment that has nothing but the wheel and what it needs.
    """
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    sweep = ["-m", "hydra/launcher=joblib", "sweep.dir=sweep", "seed=1"]
    done([installed / "unrolled", "train", *sweep, *SMALL], tmp_path, OMP_NUM_THREADS="1")
    (run,) = (tmp_path / "sweep").glob("*/results.json")
    assert results(run.parent)["status"] == "completed"


def test_bash_completes_the_command(installed, tmp_path):
    ask = 'COMP_LINE="unrolled train model=cg" COMP_CWORD=2; hydra_bash_completion; echo "${COMPREPLY[@]}"'
    script = f'eval "$(unrolled -sc install=bash)"; {ask}'
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    assert done(["bash", "-c", script], tmp_path, PATH=path).stdout == "model=cgru\n"


MINE = '''\
"""An attention of somebody's own, which notes where each process found what it builds on."""

import os

import unrolled
from unrolled.models.attention import BahdanauAttention

with open("found", "a") as file:
    print(os.environ.get("RANK"), unrolled.__file__, file=file)


class Mine(BahdanauAttention):
    """The same by another name."""
'''


def test_conf_in_the_current_folder_adds_choices(installed, call, tmp_path, tmp_path_factory):
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    (tmp_path / "my_attention.py").write_text(MINE, encoding="utf-8")
    own = "# Mine, and not yours\n_target_: my_attention.Mine\n_partial_: true\nsize: 5 # numbers\n"
    (tmp_path / "conf" / "attention" / "mine.yaml").write_text(own, encoding="utf-8")
    (tmp_path / "conf" / "attention" / "dot.yaml").write_text(own, encoding="utf-8")

    assert "mine" in call("unrolled train --help").stdout
    assert "Mine, and not yours" in call("unrolled options attention=mine").stdout
    with interpreters(tmp_path_factory.mktemp("python")) as python:
        call("unrolled train attention=mine hardware=ddp_cpu hydra.run.dir=run", *SMALL, python=python)
    assert results(tmp_path / "run")["attention"] == "mine"
    found = dict(line.split(" ", 1) for line in (tmp_path / "found").read_text(encoding="utf-8").splitlines())
    assert set(found) == {"0", "1"}
    assert all(Path(file).is_relative_to(installed.parent) for file in found.values())
    provenance = json.loads((tmp_path / "run" / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["command"][:3] == ["unrolled", "train", "attention=mine"]  # not that of one of its processes
    call("echo a b | unrolled translate run=run trust=my_attention")
    # which dot attention minds
    said = call("unrolled train attention=dot", *SMALL, "model.decoder_size=5", status=2).stderr
    assert "conf/attention/dot.yaml is not read: unrolled has its own attention=dot" in said
