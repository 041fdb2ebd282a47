"""What a wheel holds, and the command that it installs: in an environment and a folder away from the repository."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.scripts import ROOT, TINY, TINY_MODEL, results

pytestmark = pytest.mark.slow

SMALL = [*TINY, *TINY_MODEL, "~callbacks.pictures", "~callbacks.attention_record", "logger=csv", "trainer.max_epochs=1"]
PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "conf", "src")


def done(command, cwd, status=0, text="", **environment):
    """Run it as somebody who knows nothing of the repository; the test fails if it does not end with ``status``."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WANDB", "UNROLLED"))}
    words = [str(word) for word in command]
    ended = subprocess.run(
        words, cwd=cwd, env=clean | environment, input=text, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == status, f"{words}: {ended.returncode}\n{ended.stdout[-2000:]}\n{ended.stderr[-4000:]}"
    return ended


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the files that it is made from."""
    copy, built = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("built")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / part, copy)
    done([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, copy], built)
    (file,) = built.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Programs of a new environment with the wheel in it, which finds our dependencies, but nothing of ours."""
    place = tmp_path_factory.mktemp("environment")
    done([sys.executable, "-m", "venv", "--without-pip", place], place)
    install = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet"]
    done([*install, "--no-deps", "--no-index", wheel], place)
    (packages,) = place.glob("lib/python3*/site-packages")
    others = [folder for folder in sys.path if Path(folder).name in ("site-packages", "dist-packages")]
    (packages / "dependencies.pth").write_text("".join(f"{folder}\n" for folder in others), encoding="utf-8")
    return place / "bin"


def test_it_holds_all_of_conf_and_of_the_package(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.parent != ROOT / "src"]
    ours = {path.relative_to(ROOT / "src").as_posix() for path in package if "__pycache__" not in path.parts}
    ours = {name for name in ours if ".egg-info/" not in name}
    conf = {f"unrolled/conf/{path.relative_to(ROOT / 'conf').as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
    assert names == ours | conf
    assert {name.partition("/")[0] for name in names} == {"unrolled", "hydra_plugins"}  # no train.py for all to import


def test_the_command_trains_resumes_reproduces_and_translates_anywhere(installed, tmp_path):
    command = installed / "unrolled"
    where = done([installed / "python", "-c", "import unrolled; print(unrolled.__file__)"], tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert done([command, "--version"], tmp_path).stdout.startswith("unrolled ")
    done(["git", "init", "--quiet", "."], tmp_path)  # whose commit is not ours

    run = tmp_path / "run"
    done([command, "train", "model=cgru", "attention=gru_att", *SMALL, "hydra.run.dir=run"], tmp_path)
    assert results(run)["status"] == "completed"
    provenance = json.loads((run / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["git"] is None
    assert provenance["command"][:2] == ["unrolled", "train"]

    done([command, "train", "resume=run", "trainer.max_epochs=2"], tmp_path)
    assert results(run)["epochs"] == 2
    assert "identical" in done([command, "train", "reproduce=run"], tmp_path).stdout
    assert (tmp_path / "outputs").is_dir()  # the reproduction's run folder, and the cache
    as_module = [installed / "python", "-m", "unrolled", "translate", "run=run"]
    assert len(done(as_module, tmp_path, text="a b\nc\n").stdout.splitlines()) == 2


def test_jobs_of_a_sweep_in_processes_of_their_own(installed, tmp_path):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    sweep = ["-m", "hydra/launcher=joblib", "sweep.dir=sweep", "seed=1,2"]
    done([installed / "unrolled", "train", *sweep, *SMALL], tmp_path)
    runs = [results(path.parent) for path in (tmp_path / "sweep").glob("*/results.json")]
    assert [run["status"] for run in runs] == ["completed"] * 2


def test_bash_completes_the_command(installed, tmp_path):
    ask = 'COMP_LINE="unrolled train model=cg" COMP_CWORD=2; hydra_bash_completion; echo "${COMPREPLY[@]}"'
    script = f'eval "$(unrolled -sc install=bash)"; {ask}'
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    assert done(["bash", "-c", script], tmp_path, PATH=path).stdout == "model=cgru\n"


MINE = '''\
"""An attention of somebody's own."""

from unrolled.models.attention import BahdanauAttention


class Mine(BahdanauAttention):
    """The same by another name."""
'''


def test_conf_in_the_current_folder_adds_choices(installed, tmp_path):
    command = installed / "unrolled"
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    (tmp_path / "my_attention.py").write_text(MINE, encoding="utf-8")
    own = "# Mine, and not yours\n_target_: my_attention.Mine\n_partial_: true\nsize: 5 # numbers\n"
    (tmp_path / "conf" / "attention" / "mine.yaml").write_text(own, encoding="utf-8")
    (tmp_path / "conf" / "attention" / "dot.yaml").write_text(own, encoding="utf-8")

    assert "mine" in done([command, "train", "--help"], tmp_path).stdout
    listed = done([command, "options", "attention=mine"], tmp_path).stdout
    assert "Mine, and not yours" in listed
    done([command, "train", "attention=mine", "hardware=ddp_cpu", *SMALL, "hydra.run.dir=run"], tmp_path)
    assert results(tmp_path / "run")["attention"] == "mine"
    done([command, "translate", "run=run", "trust=my_attention"], tmp_path, text="a b\n")

    refused = [command, "train", "attention=dot", *SMALL, "model.decoder_size=5"]  # which dot attention minds
    said = done(refused, tmp_path, status=2).stderr
    assert "conf/attention/dot.yaml is not read: unrolled has attention=dot itself" in said
