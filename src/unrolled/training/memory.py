"""The C library's memory: keep what was freed for the next step instead of giving it back to the system.

A training step frees all it took. By default glibc returns large pieces to the system at once, which must then hand out
zeroed pages again in the next step: a tenth of a step's time on a CPU. What a run holds at its peak does not change.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGEST = 2**31 - 1  # both are C integers
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
