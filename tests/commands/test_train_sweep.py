"""The same sweep again in its folder: what is done is left alone, the rest is done, and nothing is done twice."""

import json
import os
import re
import shutil
import signal
import sys
import warnings
from contextlib import nullcontext

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import setup_globals
from support.killing import kill
from support.scripts import ROOT, SHORT, TINY, TINY_MODEL, call_script, fork_script, forked, results

from unrolled.configuration import launch
from unrolled.configuration.values import register_resolvers
from unrolled.training.ranks import run_ranks

BASE = [*TINY, *SHORT, *TINY_MODEL, "trainer.max_epochs=2", "logger=csv"]
BASE += ["~callbacks.pictures", "~callbacks.attention_record"]
SWEEP = ["-m", *BASE, "seed=1,2", "sweep.dir=jobs"]
ONE, TWO = "0-cgru-bahdanau-reorder-seed1", "1-cgru-bahdanau-reorder-seed2"


def stamps(folder):
    return {path.parent.name: path.stat().st_mtime_ns for path in sorted(folder.glob("*/results.json"))}


@pytest.mark.slow
def test_a_sweep_killed_in_its_second_job_is_completed(tmp_path):
    again = [*SWEEP, *kill(tmp_path, 8, "on_train_batch_start", "SIGKILL", seed=2)]
    assert fork_script("train.py", *again, cwd=tmp_path) == -signal.SIGKILL
    before = stamps(tmp_path / "jobs")
    assert list(before) == [ONE]
    assert call_script("train.py", *again, cwd=tmp_path).status == 0
    after = stamps(tmp_path / "jobs")
    assert list(after) == [ONE, TWO]
    assert after[ONE] == before[ONE]
    assert results(tmp_path / "jobs" / TWO)["status"] == "completed"
    provenance = json.loads((tmp_path / "jobs" / TWO / "provenance.json").read_text(encoding="utf-8"))
    assert len(provenance["resumed"]) == 1
    shutil.copytree(tmp_path / "jobs", tmp_path / "moved")
    for folder in ("sweep.dir=jobs/", f"sweep.dir={tmp_path / 'jobs'}", "sweep.dir=moved"):
        options = [option for option in again if not option.startswith("sweep.dir=")]
        assert call_script("train.py", *options, folder, "cache=other", cwd=tmp_path).status == 0
    assert stamps(tmp_path / "jobs") == stamps(tmp_path / "moved") == after
    elsewhere = call_script("train.py", *options, "hydra.sweep.dir=jobs", cwd=tmp_path)
    assert "give sweep.dir=... instead" in elsewhere.stderr
    other = call_script("train.py", *[option for option in again if "max_epochs" not in option], cwd=tmp_path)
    assert other.status == 2
    assert f"{ONE} holds another configuration" in other.stderr


@pytest.mark.slow
def test_a_sweep_with_more_values_trains_what_is_new(tmp_path):
    short = ["-m", *BASE, "trainer.max_epochs=1", "attention=bahdanau,gru_att", "sweep.dir=jobs"]
    short += kill(tmp_path, 2, "on_train_batch_start", "Failed")
    assert call_script("train.py", *short, "seed=1", cwd=tmp_path).status == 1
    before = stamps(tmp_path / "jobs")
    assert list(before) == [ONE, "1-cgru-gru_att-reorder-seed1"]
    assert call_script("train.py", *short, "seed=2,1", cwd=tmp_path).status == 0
    after = stamps(tmp_path / "jobs")
    assert {*after} == {*before, "0-cgru-bahdanau-reorder-seed2", "2-cgru-gru_att-reorder-seed2"}
    assert {results(tmp_path / "jobs" / job)["status"] for job in after} == {"completed"}
    assert {path.name for path in (tmp_path / "jobs").iterdir() if path.is_dir()} == {*after}
    assert after["1-cgru-gru_att-reorder-seed1"] == before["1-cgru-gru_att-reorder-seed1"]
    assert after[ONE] != before[ONE]  # which had failed
    assert call_script("train.py", *short, "seed=1,2", cwd=tmp_path).status == 0
    assert stamps(tmp_path / "jobs") == after


@pytest.mark.slow
def test_a_sweep_with_more_values_of_an_option_that_is_in_no_name_trains_what_is_new(tmp_path):
    sweep = ["-m", *BASE, "trainer.max_epochs=1", "optimizer.lr=1e-3,1e-2", "sweep.dir=jobs"]
    assert call_script("train.py", *sweep, "model.readout_dropout=0.1,0.2", cwd=tmp_path).status == 0
    before = stamps(tmp_path / "jobs")
    for _ in range(2):
        done = call_script("train.py", *sweep, "model.readout_dropout=0.1,0.2,0.3", cwd=tmp_path)
        assert done.status == 0, done.stderr
        after = stamps(tmp_path / "jobs")
        assert {name: after[name] for name in before} == before
        options = [yaml.safe_load((tmp_path / "jobs" / name / "config.yaml").read_text()) for name in after]
        trained = sorted((config["optimizer"]["lr"], config["model"]["readout_dropout"]) for config in options)
        assert trained == [(lr, dropout) for lr in (1e-3, 1e-2) for dropout in (0.1, 0.2, 0.3)]


@pytest.mark.slow
def test_a_moved_sweep_whose_callback_writes_into_its_folder_is_continued(tmp_path):
    sweep = ["-m", *BASE, "trainer.max_epochs=1", "callbacks=gradient_norms", "seed=1"]
    assert call_script("train.py", *sweep, "sweep.dir=jobs", cwd=tmp_path).status == 0
    before = stamps(tmp_path / "jobs")
    assert call_script("train.py", *sweep, f"sweep.dir={tmp_path / 'jobs'}", cwd=tmp_path).status == 0
    (tmp_path / "jobs").rename(tmp_path / "moved")
    assert call_script("train.py", *sweep, "sweep.dir=moved", cwd=tmp_path).status == 0
    assert stamps(tmp_path / "moved") == before


@pytest.mark.slow
def test_the_memory_study_is_one_command(tmp_path):
    few = ["sweep=memory", *BASE, "experiment=memory/bahdanau,memory/gru_att", "seed=3", "sweep.dir=jobs"]
    assert call_script("train.py", *few, cwd=tmp_path).status == 0
    jobs = sorted((tmp_path / "jobs").glob("*/results.json"))
    assert [job.parent.name for job in jobs] == ["0-cgru-bahdanau-reorder-seed3", "1-cgru-gru_att-reorder-seed3"]
    config = yaml.safe_load((jobs[0].parent / "config.yaml").read_text(encoding="utf-8"))
    assert config["callbacks"]["early_stopping"]["patience"] == 10


@pytest.mark.slow
def test_a_name_with_a_slash_is_one_folder_and_a_sweep_may_train_runs_longer(tmp_path, capfd):
    named = ["-m", *(option for option in BASE if "max_epochs" not in option), "name=mine/small", "seed=1,2"]
    assert call_script("train.py", *named, "trainer.max_epochs=1", "sweep.dir=jobs", cwd=tmp_path).status == 0
    runs = sorted((tmp_path / "jobs").glob("*/results.json"))
    assert [run.parent.name for run in runs] == ["0-mine-small-seed1", "1-mine-small-seed2"]
    resumed = f"resume={','.join(str(run.parent) for run in runs)}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as a callback of Hydra's that fails
        done = call_script("train.py", "-m", resumed, "trainer.max_epochs=2", cwd=tmp_path)
    assert done.status == 0
    assert [results(run.parent)["epochs"] for run in runs] == [2, 2]
    (sweep,) = (tmp_path / "outputs" / "sweeps").iterdir()
    assert [path.name for path in sweep.iterdir()] == ["multirun.yaml"]


@pytest.mark.parametrize("option", ["hydra.sweeper.max_batch_size=0", "hydra.launcher.n_jobs=0"])
def test_a_number_of_jobs_at_once_is_at_least_one(option, tmp_path):
    if "launcher" in option:
        pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="the extra 'sweep' is not installed")
    launcher = ["hydra/launcher=joblib"] if "launcher" in option else []
    refused = call_script("train.py", *SWEEP, *launcher, option, cwd=tmp_path)
    assert refused.status == 2
    assert refused.stderr.startswith(f"train.py: {option}: give a whole number from 1, or ")


def test_a_sweep_submitted_twice_is_refused_with_who_trains_there(tmp_path):
    sweep = [*SWEEP, *kill(tmp_path, 3, "on_train_batch_start", "SIGSTOP")]
    with forked("train.py", *sweep, cwd=tmp_path) as first:
        os.waitpid(first, os.WUNTRACED)  # it holds its first job's folder
        refused = call_script("train.py", *sweep, cwd=tmp_path)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert f"{ONE}: process {first} on {os.uname().nodename} has been at it since" in refused.stderr


@pytest.mark.slow
def test_a_failed_job_is_trained_anew(tmp_path):
    again = [*SWEEP, *kill(tmp_path, 8, "on_train_batch_start", "Failed", seed=1)]
    assert call_script("train.py", *again, cwd=tmp_path).status == 1
    assert results(tmp_path / "jobs" / ONE)["status"] == "failed"
    assert call_script("train.py", *again, cwd=tmp_path).status == 0
    assert [results(tmp_path / "jobs" / job)["status"] for job in (ONE, TWO)] == ["completed", "completed"]
    provenance = json.loads((tmp_path / "jobs" / ONE / "provenance.json").read_text(encoding="utf-8"))
    assert "resumed" not in provenance


@pytest.mark.slow
def test_a_job_that_was_interrupted_does_not_write_through_links(tmp_path):
    sweep = ["-m", *BASE, "seed=1", "trainer.max_epochs=1", "sweep.dir=jobs"]
    assert call_script("train.py", *sweep, cwd=tmp_path).status == 0
    (tmp_path / "jobs" / ONE / "results.json").unlink()
    shutil.rmtree(tmp_path / "jobs" / ONE / "translations")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "jobs" / ONE / "translations").symlink_to(tmp_path / "elsewhere")
    refused = call_script("train.py", *sweep, cwd=tmp_path)
    assert (refused.status, "translations is a link that points outside" in refused.stderr) == (2, True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.slow
def test_a_job_that_fails_after_a_good_one_does_not_end_the_sweep(tmp_path, caplog):
    given = ["-m", "seed=1,2", "optimizer.lr=0.01,-1", "sweep.dir=jobs", *BASE, "trainer.max_epochs=1"]
    sweep = [*given, *kill(tmp_path, 2, "on_train_batch_start", "Failed", seed=2)]
    with caplog.at_level("INFO"):
        done = call_script("train.py", *sweep, cwd=tmp_path)
    assert done.status == 1  # an error weighs more than a mistake
    failed = [line.partition(":")[0] for line in caplog.messages if line.startswith("job ")]
    assert failed == [
        "job 1 (1-cgru-bahdanau-reorder-seed1) failed",
        "job 2 (2-cgru-bahdanau-reorder-seed2) failed",
        "job 3 (3-cgru-bahdanau-reorder-seed2) failed",
    ]
    assert "optimizer.lr=-1: give a number above 0" in caplog.text
    assert caplog.messages[-1].startswith("3 jobs failed")
    assert ("completed" in done.stdout, "failed" in done.stdout) == (True, True)  # the table at the end
    again = call_script("train.py", *sweep, cwd=tmp_path)
    assert again.status == 2
    assert [results(path.parent)["status"] for path in (tmp_path / "jobs").glob("*/results.json")] == ["completed"] * 2
    other = [option.replace("0.01,-1", "-1,0.01") for option in sweep]
    first = call_script("train.py", *other, "sweep.dir=others", cwd=tmp_path)
    assert (first.status, first.stderr.count("\n")) == (2, 1)  # the first job: the sweep ends at once
    assert "optimizer.lr=-1" in first.stderr


@pytest.mark.slow
def test_a_job_elsewhere_whose_processes_fail_does_not_end_the_sweep(tmp_path, monkeypatch, caplog):
    """Its launcher would end with a SystemExit."""
    in_processes, jobs = launch._in_processes, []

    def fails_first(*given, **more):  # as run_ranks ends when one of several processes has failed
        jobs.append(given)
        if len(jobs) == 1:
            sys.exit(1)
        return in_processes(*given, **more)

    monkeypatch.setattr(launch, "_in_processes", fails_first)
    monkeypatch.setattr("unrolled.configuration.command.launched_elsewhere", lambda: True)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)  # with the number of a job it replaces pytest's log
    done = call_script("train.py", *SWEEP, "trainer.max_epochs=1", cwd=tmp_path)
    assert (done.status, done.stdout.count("completed")) == (1, 2)  # the run's figures, and the table
    assert f"job 0 ({ONE}) failed" in caplog.messages
    monkeypatch.setattr(launch, "_in_processes", lambda *_, **__: sys.exit(1))
    alone = call_script("train.py", *SWEEP, "trainer.max_epochs=1", "seed=3", "sweep.dir=others", cwd=tmp_path)
    assert alone.status == 1
    assert "Traceback" not in caplog.text + done.stderr + alone.stderr


@pytest.mark.slow
def test_a_mistake_in_the_data_is_said_once_by_two_processes(tmp_path, capfd):
    """They are fresh interpreters here."""
    for name, lines in {"a": "x y\n" * 9, "b": "X\n" * 8}.items():
        (tmp_path / name).write_text(lines)
    data = ["data=parallel_text", *(f"data.{split}=[a,b]" for split in ("train", "val", "test"))]
    given = [*data, "logger=csv", "hardware=ddp_cpu", "hydra.run.dir=run"]
    done = call_script("train.py", *given, cwd=tmp_path)
    said = done.stderr + capfd.readouterr().err
    assert (done.status, said.count("has 9 lines")) == (2, 1), said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_test_set_that_two_processes_cannot_divide_is_refused_before_training(tmp_path, capfd):
    for name, lines in {"many": "x y\n" * 9, "one": "x\n"}.items():
        (tmp_path / name).write_text(lines)
    files = {"train": "many", "val": "many", "test": "one"}
    data = ["model=rnn_lm", "data=monolingual_text", *(f"data.{split}={name}" for split, name in files.items())]
    given = [*data, "tokenizer=word", "logger=csv", "hardware=ddp_cpu", "hydra.run.dir=run"]
    done = call_script("train.py", *given, cwd=tmp_path)
    said = done.stderr + capfd.readouterr().err
    assert (done.status, said.count("1 sentences, 1 batches, 2 processes")) == (2, 1), said
    assert f"{tmp_path / 'one'}: " in said
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_interrupted_sweep_ends_and_says_how_to_continue(tmp_path, caplog):
    again = [*SWEEP, *kill(tmp_path, 2, "on_train_batch_start", "SIGINT", seed=1)]
    with caplog.at_level("INFO"):
        assert call_script("train.py", *again, cwd=tmp_path).status == 130
    said = [message for message in caplog.messages if "continue with" in message]
    assert said == ["interrupted; continue with the same command and sweep.dir=jobs"]
    assert results(tmp_path / "jobs" / ONE)["status"] == "interrupted"
    assert not (tmp_path / "jobs" / TWO).exists()


@pytest.mark.slow
def test_a_diverged_job_is_recorded_and_the_sweep_goes_on(tmp_path):
    diverging = ["optimizer=sgd", "optimizer.lr=1e30,0.1", "trainer.gradient_clip_val=null"]
    sweep = ["-m", *BASE, *diverging, "sweep.dir=jobs"]
    assert call_script("train.py", *sweep, cwd=tmp_path).status == 0
    first, second = sorted(path.parent for path in (tmp_path / "jobs").glob("*/results.json"))
    assert [results(job)["status"] for job in (first, second)] == ["diverged", "completed"]
    before = stamps(tmp_path / "jobs")
    assert call_script("train.py", *sweep, cwd=tmp_path).status == 0
    assert stamps(tmp_path / "jobs") == before


@pytest.mark.slow
def test_out_of_memory_training_goes_on_with_half_the_batches_and_again(tmp_path, caplog):
    full = ["+callbacks.full._target_=support.killing.OutOfMemory", "+callbacks.full.steps=[3,5]"]
    full += [f"+callbacks.full.folder={tmp_path}", "callbacks.saving.steps=1"]
    sweep = ["-m", *BASE, *full, "seed=1", "sweep.dir=jobs"]
    with caplog.at_level("INFO"):
        done = call_script("train.py", *sweep, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert re.search(r"out of memory in a batch of \d+ sentences of up to \d+ source and \d+ target words", caplog.text)
    assert (tmp_path / "began").read_text().split() == ["0", "3", "5"]  # the updates there were, each time
    run = tmp_path / "jobs" / ONE
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    assert (config["data"]["max_tokens"], config["data"]["module"]["max_tokens"]) == (25, 25)
    assert config["trainer"]["accumulate_grad_batches"] == 4
    assert results(run)["status"] == "completed"
    before = stamps(tmp_path / "jobs")
    assert call_script("train.py", *sweep, cwd=tmp_path).status == 0  # again, it is the same job all the same
    assert stamps(tmp_path / "jobs") == before


@pytest.mark.parametrize(("status", "error"), [(75, MemoryError), (3, SystemExit), (0, None)])
def test_processes_that_are_out_of_memory_say_so_by_their_status(status, error, tmp_path, monkeypatch):
    (tmp_path / "rank.py").write_text(f"import os, sys; sys.exit({status} if os.environ['RANK'] == '1' else 0)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(error) if error else nullcontext():
        run_ranks("rank", {}, 2)


def test_what_starts_in_the_same_second_has_a_folder_of_its_own():
    """Of two runs and two sweeps, whatever the time."""
    setup_globals()
    register_resolvers()
    names = []
    for _ in range(2):
        with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
            config = compose("train", return_hydra_config=True)
        HydraConfig.instance().set_config(config)
        names += [config.hydra.run.dir, config.hydra.sweep.dir]
    timeless = [re.fullmatch(r"outputs/.*/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d-([0-9a-f]{6})", name) for name in names]
    assert len({found and found[1] for found in timeless}) == 4, names
