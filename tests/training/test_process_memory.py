"""Freed memory stays with the process where the C library can be told so, and nothing breaks where it cannot."""

import ctypes
import os
import subprocess
import sys

import pytest
from support.scripts import ROOT

from unrolled.training import process_memory

PROBE = """
import resource
import torch
from unrolled.training.process_memory import keep_freed_memory
assert keep_freed_memory()
def step():
    torch.ones(3_000_000).add_(1)
    pieces = [torch.ones(300_000) for _ in range(40)]
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc is Linux's")
def test_pages_are_not_asked_for_again():
    """50 steps touch 700,000 pages; as it is, glibc asks for most of them again in most processes."""
    if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        pytest.skip("the C library is not glibc")
    where = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", PROBE], env=where, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 10_000


@pytest.mark.parametrize("library", [object(), type("Refusing", (), {"mallopt": staticmethod(lambda *_: 0)})()])
def test_another_c_library_is_left_alone(library, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    assert process_memory.keep_freed_memory() is False
