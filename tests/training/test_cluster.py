"""What torchrun or SLURM started is told apart from what a user started in a job of theirs."""

import pytest
from lightning.fabric.plugins.environments import LightningEnvironment, SLURMEnvironment, TorchElasticEnvironment

from unrolled.errors import UserError
from unrolled.training.cluster import (
    check_nodes,
    check_started,
    cluster_environment,
    is_first,
    shared_start,
    started_from_outside,
)

JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NAME": "mine", "SLURM_NTASKS": "4", "SLURM_NNODES": "2", "SLURM_PROCID": "0"}
"""Variables of a job of four tasks, as its script has them."""
TASK = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_ID": "0"}
TASK |= {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1"}
"""And those that srun adds, in the last task."""


@pytest.fixture
def variables(monkeypatch):
    def add(more):
        for name, value in more.items():
            monkeypatch.setenv(name, value)

    return add


@pytest.mark.parametrize("more", [{}, {"SLURM_STEP_NUM_TASKS": "1"}, TASK | {"SLURM_JOB_NAME": "bash"}])
def test_a_process_that_srun_did_not_start_with_others_is_the_only_one(more, variables):
    """Lightning would wait for the others, or refuse their number."""
    variables(JOB | more)
    assert not started_from_outside()
    environment = cluster_environment()
    assert isinstance(environment, LightningEnvironment)
    assert (environment.world_size(), environment.global_rank()) == (1, 0)


def test_a_task_of_several_has_the_numbers_of_srun(variables):
    variables(JOB | TASK | {"SLURM_NTASKS_PER_NODE": "4"})  # of the job, while the step has two on each
    assert started_from_outside()
    assert not is_first()
    environment = cluster_environment()
    assert isinstance(environment, SLURMEnvironment)
    assert (environment.world_size(), environment.global_rank(), environment.local_rank()) == (4, 3, 1)
    environment.validate_settings(num_devices=2, num_nodes=2)
    assert not environment.auto_requeue  # resume=RUN does it, or submitit


@pytest.mark.parametrize("torchrun", [True, False])
def test_the_processes_of_torchrun_and_ours_have_their_own_numbers_in_a_job(torchrun, variables):
    variables(JOB | {"LOCAL_RANK": "1", "RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "29501"})
    if torchrun:
        variables({"TORCHELASTIC_RUN_ID": "none"})
    environment = cluster_environment()
    assert isinstance(environment, TorchElasticEnvironment if torchrun else LightningEnvironment)
    assert environment.creates_processes_externally
    assert environment.local_rank() == 1


def test_several_machines_are_started_from_outside(monkeypatch):
    check_nodes(1)
    monkeypatch.setenv("SLURM_NTASKS", "2")  # a script, whose job may have several tasks
    with pytest.raises(UserError, match="num_nodes=2: start it on all by torchrun or srun"):
        check_nodes(2)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    check_nodes(2)


@pytest.mark.parametrize("of", ["run", "sweep"])
def test_the_processes_of_torchrun_have_one_name_for_a_run_and_one_for_a_sweep(of, monkeypatch):
    store = {}

    class Store:
        def __init__(self, *_, **__):
            self.set, self.get = store.__setitem__, lambda key: store[key].encode()

    monkeypatch.setattr("torch.distributed.TCPStore", Store)
    for name, value in {"LOCAL_RANK": "0", "MASTER_ADDR": "x", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RANK", "0")
    assert shared_start("first", of) == "first"
    assert shared_start("other", "other") == "other"
    monkeypatch.setenv("RANK", "1")
    assert shared_start("second", of) == "first"


def test_sweeps_that_are_begun_in_one_slurm_job_have_names_of_their_own(monkeypatch):
    for name, value in {"SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7"}.items():
        monkeypatch.setenv(name, value)
    assert shared_start("now", "run") == "slurm-7.0"
    assert shared_start("now", "sweep") == "now"


@pytest.mark.parametrize(("there", "each", "nodes"), [(2, 1, 1), (1, 2, 1), (3, 2, 1), (4, 4, 2)])
def test_torchrun_starts_as_many_processes_as_the_run_has(there, each, nodes, monkeypatch):
    """With another number, each would train the run alone, or wait for the others in vain."""
    check_started(each, nodes)  # there is no torchrun
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", str(there))
    said = f"torchrun started {there}, and this run has {each * nodes}: give torchrun --nproc-per-node={each}, or"
    with pytest.raises(UserError, match=said):
        check_started(each, nodes)
    monkeypatch.setenv("WORLD_SIZE", str(each * nodes))
    check_started(each, nodes)


def test_srun_starts_as_many_tasks_as_the_run_has_processes(monkeypatch):
    for name, value in {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"}.items():
        monkeypatch.setenv(name, value)
    said = (
        "srun started 2, and this run has 1: give srun --ntasks-per-node=1, or a new run hardware=ddp_cpu or multi_gpu"
    )
    with pytest.raises(UserError, match=said):
        check_started(1, 1)
    check_started(2, 1)
    check_started(1, 2)
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", "1(x2)")
    check_started(1, 2)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "8")
    monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", "3(x2),2")
    with pytest.raises(UserError, match=r"srun started 3\(x2\),2 on 4 nodes: give it --ntasks-per-node=2"):
        check_started(2, 4)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")  # one task, which starts a process for each of its GPUs
    check_started(4, 1)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    monkeypatch.setenv("SLURM_JOB_NAME", "bash")  # a shell, from which one process is started
    check_started(1, 1)
    monkeypatch.delenv("SLURM_JOB_NAME")
    monkeypatch.delenv("SLURM_STEP_NUM_TASKS")  # a script, which srun has not started
    check_started(1, 1)
