"""How long the threads of a product wait for each other before they give up their cores."""

import os

SPINS = "2000"  # turns of a loop, a few dozen microseconds; GNU OpenMP's own are 300,000, several milliseconds
GIVEN = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def wait_briefly() -> None:
    """Have waiting threads sleep soon; called before torch is imported. The user's own setting stays.

    Where another program holds a core, each thread would otherwise use up its time there by waiting for the one that
    cannot run: training with two threads then takes many times as long as with one (docs/performance.md).
    """
    if not any(name in os.environ for name in GIVEN):
        os.environ["GOMP_SPINCOUNT"] = SPINS
