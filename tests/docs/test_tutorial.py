"""The commands of the tutorial, as it prints them.

They take minutes: UNROLLED_TUTORIAL=1 python -m pytest tests/docs/test_tutorial.py
"""

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib

import pytest
from support.scripts import ROOT

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
INSTALLS, *BLOCKS = re.findall(r"^```\n(.*?)^```", TUTORIAL, flags=re.MULTILINE | re.DOTALL)
LIMIT = 600
"""Seconds for all of them, on two cores: of the clock or, on a machine that does other things too, of computing."""


def test_it_begins_with_the_installation():
    assert "pip install -e ." in INSTALLS
    assert len(BLOCKS) >= 5


def test_the_torch_that_comes_first_is_one_that_the_package_takes():
    """Else the second command replaces it by a build with CUDA."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    (wanted,) = [need for need in needs if need.startswith("torch")]
    assert f'pip install "{wanted}" --index-url' in INSTALLS


@pytest.mark.parametrize("script", sorted(set(re.findall(r"src/(\w+)\.py", TUTORIAL))))
def test_its_scripts_exist(script):
    assert (ROOT / "src" / f"{script}.py").is_file()


@pytest.mark.skipif(not os.environ.get("UNROLLED_TUTORIAL"), reason="takes minutes: UNROLLED_TUTORIAL=1 runs it")
def test_its_commands_work_as_written_in_under_ten_minutes(tmp_path):
    for folder in ("src", "conf"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    start, before = time.monotonic(), os.times()
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f'python() {{ "{sys.executable}" "$@"; }}\n{block}'],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"$ {block}{done.stdout[-3000:]}")
        assert done.returncode == 0, done.stderr[-3000:]
    seconds, after = time.monotonic() - start, os.times()
    computing = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{seconds:.0f} seconds, {computing:.0f} of computing")
    assert min(seconds, computing) < LIMIT
    assert (tmp_path / "outputs" / "question" / "comparison" / "comparison.html").is_file()
