"""The memory of this process: its peak, keeping freed memory, running out of memory."""

import ctypes
import gc
import resource
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
LARGEST = 2**31 - 1  # both are C integers
LARGEST_OF_OLD = 2**25  # what glibc before 2.35 accepts for M_MMAP_THRESHOLD
OUT_OF_MEMORY = 75  # exit status of one of several processes: EX_TEMPFAIL


def peak_memory_mib() -> float:
    """The most memory this process has held, in MiB: on the GPU if one is in use, else resident."""
    import torch  # takes seconds: commands that do not compute start without

    if torch.cuda.is_available() and torch.cuda.max_memory_allocated() > 0:
        return torch.cuda.max_memory_allocated() / 2**20
    # ru_maxrss counts KiB on Linux and bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def keep_freed_memory() -> bool:
    """Let glibc keep freed memory for this process; False, and no change, with another C library."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    large = mallopt(M_MMAP_THRESHOLD, LARGEST) or mallopt(M_MMAP_THRESHOLD, LARGEST_OF_OLD)
    return bool(large and mallopt(M_TRIM_THRESHOLD, LARGEST))


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether ``problem`` means that memory ran out, on any device."""
    import torch

    if isinstance(problem, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(problem, RuntimeError) and "can't allocate memory" in str(problem)  # torch on a CPU


def free_memory() -> None:
    """Give back memory that nothing holds any more, on the GPU too."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
