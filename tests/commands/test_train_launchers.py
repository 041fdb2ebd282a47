"""Trainings in processes of their own: side by side by joblib, on a cluster by submitit, by torchrun."""

import json
import os
import subprocess
import time
from importlib import import_module
from pathlib import Path

import pytest
import sacrebleu
from support.interpreters import interpreters
from support.killing import kill
from support.scripts import ROOT, SHORT, TESTS, TINY, TINY_MODEL, call_script, results, train
from support.slurm_cluster import make_cluster

pytestmark = pytest.mark.slow

ALONE = [*TINY, *SHORT, *TINY_MODEL, "trainer.max_epochs=2", "logger=csv"]
ALONE += ["~callbacks.pictures", "~callbacks.attention_record"]
BASE = ["-m", *ALONE, "sweep.dir=jobs"]
ONE, TWO = "0-cgru-bahdanau-reorder-seed1", "1-cgru-bahdanau-reorder-seed2"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """For ``sys.executable``: quick, see support/interpreters.py."""
    with interpreters(tmp_path_factory.mktemp("python")) as path:
        yield path


def resumed(run: Path) -> int:
    return len(json.loads((run / "provenance.json").read_text(encoding="utf-8")).get("resumed", []))


def weights(run: Path) -> bytes:
    return (run / "weights.safetensors").read_bytes()


def test_joblib_trains_side_by_side_and_shares_the_cores(tmp_path, monkeypatch, capfd, caplog):
    """A mistake, even in the first job, is reported at the end, before the table of all jobs."""
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the extra 'sweep' is not installed")
    counting = ["+callbacks.threads._target_=support.killing.Threads"]
    launcher = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.delenv("OMP_NUM_THREADS")
    given = ["optimizer.lr=-1,0.01", "seed=1,2", *counting, *launcher]
    done = call_script("train.py", *BASE, *given, cwd=tmp_path)
    assert (done.status, done.stdout.count("completed")) == (2, 2)
    log = capfd.readouterr().err
    assert "[2] epoch 1, step" in log
    assert "[3] epoch 1, step" in log
    said = [message.partition(": ") for message in caplog.messages if message.startswith("job")]
    assert [job for job, _, _ in said] == [f"job {n} ({n}-cgru-bahdanau-reorder-seed{n + 1}) failed" for n in (0, 1)]
    assert all(mistake.startswith("optimizer.lr=-1: ") for _, _, mistake in said)
    threads = {int(line) for line in (tmp_path / "threads").read_text().split()}
    assert threads == {max(1, (os.cpu_count() or 1) // 2)}


def test_an_interruption_of_joblib_says_how_to_continue_the_sweep(tmp_path, monkeypatch, caplog):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the extra 'sweep' is not installed")

    def interrupted(**_):  # as joblib.Parallel is by Ctrl-C, while jobs run in other processes
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("hydra_plugins.hydra_joblib_launcher._core"), "launch", interrupted)
    with caplog.at_level("INFO"):
        assert call_script("train.py", *BASE, "seed=1,2", "hydra/launcher=joblib", cwd=tmp_path).status == 130
    assert "interrupted; continue with the same command and sweep.dir=jobs" in caplog.messages


def test_a_job_that_submitit_queues_again_goes_on(python, tmp_path, monkeypatch):
    pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")
    preempted = kill(tmp_path, 4, "on_train_batch_start", "SIGUSR2")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setattr("sys.executable", str(python))
    done = call_script("train.py", *BASE, "hydra/launcher=submitit_local", *preempted, "seed=1", cwd=tmp_path)
    assert done.status == 0
    run = tmp_path / "jobs" / ONE
    assert (results(run)["status"], resumed(run)) == ("completed", 1)
    (log,) = (tmp_path / "jobs" / ".submitit").glob("*/*.err")
    assert "[0] Requeued job" in log.read_text()
    assert weights(train(tmp_path, *ALONE, "seed=1")) == weights(run)


@pytest.fixture(scope="module")
def two_processes(python, tmp_path_factory):
    """Where a sweep of two jobs was, each trained by two processes of one machine, in a SLURM job of one task."""
    where = tmp_path_factory.mktemp("two_processes")
    names = {"JOB_ID": 7, "JOB_NAME": "mine", "NTASKS": 1, "NTASKS_PER_NODE": 1, "NNODES": 1, "STEP_NUM_TASKS": 1}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in (names | {"PROCID": 0, "LOCALID": 0, "NODEID": 0}).items():
            monkeypatch.setenv(f"SLURM_{name}", str(value))
        monkeypatch.setattr("sys.executable", str(python))  # that interpreters are started: test_train_sweep.py
        assert call_script("train.py", *BASE, "hardware=ddp_cpu", "seed=1,2", cwd=where).status == 0
    return where


def test_two_processes_share_a_run_folder_and_repeat_no_job(two_processes):
    assert sorted(path.name for path in two_processes.iterdir()) == ["cache", "jobs"]
    assert sorted(path.name for path in (two_processes / "jobs").iterdir()) == [ONE, TWO, "multirun.yaml"]
    for job in (ONE, TWO):
        assert results(two_processes / "jobs" / job)["status"] == "completed"


def test_two_processes_have_batches_of_their_own_and_figures_in_common(two_processes, tmp_path):
    run, one = two_processes / "jobs" / ONE, train(tmp_path, *ALONE, "seed=1")
    assert set(results(run)) == set(results(one))
    assert results(run)["steps"] < results(one)["steps"]
    (corpus,) = two_processes.glob("cache/reorder/*")
    for split, count in (("val", 5), ("test", 4)):
        written = (run / "translations" / f"{split}.txt").read_text(encoding="utf-8").split("\n")[:-1]
        references = (corpus / f"{split}.target").read_text(encoding="utf-8").split("\n")[:-1]
        assert len(written) == count
        score = sacrebleu.corpus_bleu(written, [references], tokenize="none").score
        assert score == pytest.approx(results(run)[f"{split}/bleu"], abs=1e-4)
    evaluated = call_script("evaluate.py", f"run={run}", cwd=tmp_path).stdout
    shown = dict(line.split(maxsplit=1) for line in evaluated.splitlines() if "," not in line)
    for name in ("perplexity", "aer", "attention_entropy", "unattended", "words_per_attended"):
        assert float(shown[name]) == pytest.approx(results(run)[f"test/{name}"], rel=1e-3), name


def test_the_processes_of_torchrun_share_one_folder(python, tmp_path):
    torchrun = [str(python), "-m", "torch.distributed.run", "--nproc-per-node=2", str(ROOT / "src" / "train.py")]
    base = [option for option in ALONE if not option.startswith("trainer.max_epochs")]
    given = [*torchrun, *base, "hardware=ddp_cpu", "trainer.max_epochs=1", "cache=cache"]
    environment = os.environ | {"PYTHON_EXEC": str(python)}
    done = subprocess.run(given, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "outputs" / "cgru-bahdanau-reorder").iterdir()
    assert (results(run)["status"], results(run)["steps"]) == ("completed", 3)
    assert (run / "config.yaml").is_file()


def test_two_nodes_of_a_slurm_cluster_train_as_two_processes_and_go_on_when_queued_again(
    two_processes, python, tmp_path, monkeypatch
):
    pytest.importorskip("submitit", reason="the extra 'slurm' is not installed")
    monkeypatch.setenv("PATH", f"{make_cluster(tmp_path / 'bin')}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setattr("sys.executable", str(python))
    nodes = ["hardware=multi_node", "trainer.accelerator=cpu", "trainer.devices=1", "trainer.num_nodes=2"]
    slurm = ["hydra/launcher=slurm", "hydra.launcher.nodes=2", "hydra.launcher.gpus_per_node=null"]
    preempted = kill(tmp_path, 2, "on_train_batch_start", "SIGUSR2")
    command = ["train.py", *BASE, *nodes, *slurm, *preempted, "seed=1", "sweep.wait=false"]
    assert call_script(*command, cwd=tmp_path).status == 0
    assert not list(tmp_path.glob("jobs/*/results.json"))  # the job has hardly begun
    end = time.monotonic() + 120
    while not any(results(path.parent)["status"] == "completed" for path in tmp_path.glob("jobs/*/results.json")):
        logs = sorted([tmp_path / "bin" / "log", *tmp_path.glob("jobs/.submitit/*/*_log.*")])
        assert time.monotonic() < end, "\n".join(path.read_text()[-4000:] for path in logs if path.is_file())
        time.sleep(0.1)
    (run,) = (tmp_path / "jobs").glob("0-*")
    assert (results(run)["status"], resumed(run)) == ("completed", 1)
    (submission,) = (tmp_path / "jobs" / ".submitit").glob("*/*_submission.sh")
    assert "#SBATCH --signal=USR2@300" in submission.read_text()
    assert weights(two_processes / "jobs" / ONE) == weights(run)
