"""Memory: having run out of it, and the C library's, which is to keep what was freed for the next step.

A training step frees all it took. By default glibc returns large pieces to the system at once, which must then hand out
zeroed pages again in the next step: a tenth of a step's time on a CPU. What a run holds at its peak does not change.
"""

import ctypes
import sys

import torch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGEST = 2**31 - 1  # both are C integers
OUT_OF_MEMORY = 75  # exit status of one of several processes: EX_TEMPFAIL
LARGEST_OF_OLD = 2**25  # what glibc before 2.35 accepts for M_MMAP_THRESHOLD


def keep_freed_memory() -> bool:
    """Tell glibc so; False where there is another C library, and then nothing is changed."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    large = mallopt(M_MMAP_THRESHOLD, LARGEST) or mallopt(M_MMAP_THRESHOLD, LARGEST_OF_OLD)
    return bool(large and mallopt(M_TRIM_THRESHOLD, LARGEST))


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether ``problem`` is that there was no memory left, on any device."""
    if isinstance(problem, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(problem, RuntimeError) and "can't allocate memory" in str(problem)  # torch on a CPU
