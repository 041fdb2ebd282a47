"""`import unrolled`: quick, whatever it offers."""

import os
import subprocess
import sys

import pytest
from support.scripts import ROOT

import unrolled

LARGE = ("torch", "lightning", "hydra", "omegaconf", "numpy", "matplotlib", "pandas", "wandb", "sacrebleu")
CHILD = """
import sys
before = set(sys.modules)
import unrolled
dir(unrolled), unrolled.__version__
print(len(set(sys.modules) - before), *sorted(name for name in sys.modules if name in {large}))
{then}
print(*sorted(name for name in sys.modules if name in {large}))
"""


def modules(then=""):
    """What is imported by the package alone, and after ``then``."""
    program = CHILD.format(large=LARGE, then=then)
    where = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, check=True)
    first, last = done.stdout.splitlines()
    count, *large = first.split()
    return int(count), large, last.split()


def test_importing_the_package_imports_hardly_anything():
    count, large, _ = modules()
    assert large == []
    assert count < 40


def test_comparing_and_a_mistake_need_no_torch():
    then = ["try:", "    unrolled.compare(['nowhere'])", "except unrolled.UserError as problem:"]
    then += ["    assert 'nowhere' in str(problem)"]
    assert modules("\n".join(then))[2] == ["hydra", "numpy", "omegaconf"]


def test_everything_offered_is_there_and_nothing_else():
    assert set(unrolled.__all__) <= set(dir(unrolled))
    for name in unrolled.__all__:
        assert getattr(unrolled, name) is not None
    with pytest.raises(AttributeError, match="it offers"):
        _ = unrolled.translate
