"""Which maker's CPU this is: what is quick on one is slow on another."""

from pathlib import Path

import torch


def _intel_with_mkl() -> bool:
    if not torch.backends.mkl.is_available():
        return False
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
            return "GenuineIntel" in next((line for line in lines if line.startswith("vendor_id")), "")
    except OSError:
        return False


INTEL = _intel_with_mkl()
"""Whether this is a CPU of Intel's and torch computes with MKL, Intel's library. False where that cannot be told."""
