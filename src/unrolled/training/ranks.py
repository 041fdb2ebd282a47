"""Several processes on one machine, each started from the run's resolved configuration, not from the command line.

Lightning would start a child by repeating ``sys.argv``, which under multirun is the whole sweep.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from unrolled.training.process_memory import OUT_OF_MEMORY


def started_from_outside() -> bool:
    """Whether torchrun, SLURM or `run_ranks` started this process as one of several."""
    return "LOCAL_RANK" in os.environ or ("SLURM_NTASKS" in os.environ and int(os.environ["SLURM_NTASKS"]) > 1)


def is_first() -> bool:
    """Whether this process is the only one, or the first of several that torchrun or SLURM started."""
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))) == 0


def shared_start(own: str) -> str:
    """A name for the start of a run, the same in all processes that torchrun or SLURM started for it.

    ``own``: this process' name, used if it is the only or the first one. A requeued SLURM job keeps its name.
    """
    if not started_from_outside():
        return own
    if "TORCHELASTIC_RUN_ID" in os.environ:  # the processes of torchrun share a store
        import torch  # takes seconds, which a single process need not wait

        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = torch.distributed.TCPStore(*address, is_master=False)  # type: ignore[attr-defined]
        key = f"unrolled/start/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        if is_first():
            store.set(key, own)
        return store.get(key).decode()
    if "SLURM_JOB_ID" in os.environ:
        return f"slurm-{os.environ['SLURM_JOB_ID']}.{os.environ.get('SLURM_STEP_ID', '0')}"
    return own


def processes(accelerator: str, devices: int | str, strategy: str) -> int:
    """How many processes a run needs on this machine."""
    if not strategy.startswith("ddp"):
        return 1
    if devices == "auto":
        import torch

        return torch.cuda.device_count() if accelerator == "gpu" else 1
    return int(devices)


def run_ranks(module: str, environment: dict[str, str], processes: int) -> None:
    """Run ``module`` once per rank with ``environment`` added. Interrupting this process interrupts them all.

    If one rank fails, the others are stopped: SystemExit with its status, MemoryError if that is OUT_OF_MEMORY.
    """
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // processes))
    package = Path(__file__).resolve().parents[2]  # a script's folder is on its own path, not on its children's
    shared = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")])),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(processes),
        "NODE_RANK": "0",
        "OMP_NUM_THREADS": threads,
    }
    children = [
        subprocess.Popen(
            [sys.executable, "-m", module],
            env=os.environ | environment | shared | {"LOCAL_RANK": str(rank), "RANK": str(rank)},
        )
        for rank in range(processes)
    ]
    try:
        while True:
            states = [child.poll() for child in children]
            failures = [state for state in states if state]
            if OUT_OF_MEMORY in failures:
                raise MemoryError("in one of several processes")
            if failures:
                sys.exit(failures[0] if failures[0] > 0 else 1)
            if all(state == 0 for state in states):
                return
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
