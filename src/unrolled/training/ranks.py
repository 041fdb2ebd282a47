"""Several processes on one machine: each started from the run's resolved configuration, not from the command line.

Lightning would start a child by repeating ``sys.argv``, which under multirun is the whole sweep.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import torch


def started_from_outside() -> bool:
    """Whether torchrun, SLURM or ourselves started this process as one of several."""
    return "LOCAL_RANK" in os.environ or ("SLURM_NTASKS" in os.environ and int(os.environ["SLURM_NTASKS"]) > 1)


def processes(accelerator: str, devices: int | str, strategy: str) -> int:
    """How many processes a run needs on this machine."""
    if not strategy.startswith("ddp"):
        return 1
    if devices == "auto":
        return torch.cuda.device_count() if accelerator == "gpu" else 1
    return int(devices)


def run_ranks(script: Path, environment: dict[str, str], processes: int) -> int:
    """Run ``script`` once a rank with ``environment`` added; returns the first exit status that is not 0, or 0.

    When one rank ends badly, the others are stopped. Interrupting this process interrupts them all.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // processes))
    shared = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(processes),
        "NODE_RANK": "0",
        "OMP_NUM_THREADS": threads,
    }
    children = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env=os.environ | environment | shared | {"LOCAL_RANK": str(rank), "RANK": str(rank)},
        )
        for rank in range(processes)
    ]
    try:
        while True:
            states = [child.poll() for child in children]
            bad = [state for state in states if state]
            if bad:
                return bad[0] if bad[0] > 0 else 1
            if all(state == 0 for state in states):
                return 0
            time.sleep(0.1)
    except KeyboardInterrupt:
        _stop(children, signal.SIGINT)
        raise
    finally:
        _stop(children, signal.SIGTERM)


def _stop(children: list[subprocess.Popen[bytes]], sign: signal.Signals) -> None:
    alive = [child for child in children if child.poll() is None]
    for child in alive:
        child.send_signal(sign)
    for child in alive:
        try:
            child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
