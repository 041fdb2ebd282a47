"""Processes that torchrun or SLURM started: how many there are, which is the first, how Lightning numbers them.

A job of SLURM has its variables in every process, also in one that srun did not start, or that it started alone. Only
those of a step of several tasks say that others were started too.
"""

import os
import re
from typing import TYPE_CHECKING

from unrolled.errors import UserError

if TYPE_CHECKING:
    from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment

SHELLS = ("bash", "interactive")
"""Names of SLURM jobs that are shells, as Lightning knows them: what is started there is one process, not all tasks."""


def started_from_outside() -> bool:
    """Whether torchrun, srun or `run_ranks` started this process as one of several."""
    return "LOCAL_RANK" in os.environ or _tasks() > 1


def _tasks() -> int:
    """How many processes srun started together with this one; 1 if srun did not start it."""
    if os.environ.get("SLURM_JOB_NAME") in SHELLS:
        return 1
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))


def is_first() -> bool:
    """Whether this process is the only one, or the first of several that torchrun or SLURM started."""
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))) == 0


def shared_start(name: str, of: str) -> str:
    """A name for the start of a run or sweep (``of``), the same in all processes that torchrun or SLURM started for it.

    ``name``: this process' name, used if it is the only or the first one. A requeued SLURM job keeps its name, but the
    sweeps that are begun in it have names of their own.
    """
    if not started_from_outside():
        return name
    if "TORCHELASTIC_RUN_ID" in os.environ:  # the processes of torchrun share a store
        import torch  # takes seconds, which a single process need not spend

        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = torch.distributed.TCPStore(*address, is_master=False)  # type: ignore[attr-defined]
        key = f"unrolled/start/{of}/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        if is_first():
            store.set(key, name)
        return store.get(key).decode()
    if "SLURM_JOB_ID" in os.environ and of == "run":
        return f"slurm-{os.environ['SLURM_JOB_ID']}.{os.environ.get('SLURM_STEP_ID', '0')}"
    return name


def check_nodes(nodes: int) -> None:
    """UserError: several machines, and nothing has started a process on each: this one would wait for the others."""
    if nodes > 1 and not started_from_outside():
        raise UserError(f"trainer.num_nodes={nodes}: start it on all by torchrun or srun: docs/sweeps.md")


def check_started(processes: int, nodes: int) -> None:
    """UserError: torchrun or srun started more or fewer processes than the run has, ``processes`` on each of ``nodes``.

    Where the run has one, each of them would train it in the same folder.
    """
    if "LOCAL_RANK" in os.environ:
        starter, option, there = "torchrun", "nproc-per-node", int(os.environ.get("WORLD_SIZE", "1"))
    elif (there := _tasks()) > 1:
        starter, option = "srun", "ntasks-per-node"
    else:  # a process that may start the others
        return
    if there != processes * nodes:
        raise UserError(
            f"number of processes: {starter} started {there}, and this run has {processes * nodes}: give {starter} "
            f"--{option}={processes}, or a new run hardware=ddp_cpu or multi_gpu, and trainer.devices={there // nodes}"
        )
    on_each = os.environ.get("SLURM_STEP_TASKS_PER_NODE", "") if starter == "srun" else ""  # such as 4(x2),3
    if set(re.findall(r"(\d+)(?:\(x\d+\))?", on_each)) - {str(processes)}:
        raise UserError(f"number of processes: srun started {on_each} on {nodes} nodes: give it --{option}={processes}")


def cluster_environment() -> "ClusterEnvironment":
    """What tells Lightning the numbers of this process and of all processes.

    Left to itself, Lightning takes them from SLURM's variables wherever it finds some: the processes of `run_ranks` in
    a SLURM job would all be the first of one.
    """
    from lightning.fabric.plugins.environments.lightning import LightningEnvironment
    from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
    from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment

    if TorchElasticEnvironment.detect():
        return TorchElasticEnvironment()
    if "LOCAL_RANK" in os.environ or _tasks() == 1:
        return LightningEnvironment()
    nodes = int(os.environ.get("SLURM_STEP_NUM_NODES", "1"))
    os.environ["SLURM_NTASKS_PER_NODE"] = str(_tasks() // nodes)  # there only if srun was given this option
    return SLURMEnvironment(auto_requeue=False)
