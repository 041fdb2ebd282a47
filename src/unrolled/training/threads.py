"""The threads of a product: how many there can be, and how long they wait for each other."""

import os

SPINS = "2000"  # turns of a loop, a few dozen microseconds; GNU OpenMP's own are 300,000, several milliseconds
GIVEN = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def wait_briefly() -> None:
    """Have waiting threads sleep soon; called before torch is imported. The user's own setting stays.

    Where another program holds a core, each thread would otherwise use up its time by waiting for the one that cannot
    run: training with two threads then takes many times as long as with one (docs/performance.md, Threads).
    """
    if not any(name in os.environ for name in GIVEN):
        os.environ["GOMP_SPINCOUNT"] = SPINS


def cores() -> int:
    """The cores that this process may use: on a cluster a job is often bound to few of a machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
