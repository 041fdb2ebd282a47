"""sweep=optuna: a study in the sweep's folder, which continues where it was interrupted."""

import builtins
import logging
import math
import sys

import pytest
import yaml
from support.killing import Killed, kill
from support.scripts import SHORT, TINY, TINY_MODEL, call_script, results

from unrolled.configuration import launch

optuna = pytest.importorskip("optuna", reason="the extra 'sweep' is not installed")
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:sqlalchemy.*", "ignore::DeprecationWarning:optuna.*"
)

BASE = [*TINY, *SHORT, *TINY_MODEL, "trainer.max_epochs=1", "data.grammar.pairs=60", "logger=csv", "sweep=optuna"]
BASE += ["~callbacks.pictures", "~callbacks.attention_record"]
SPACE = ["model.readout_dropout=interval(0,0.5)", "optimizer.lr=tag(log,interval(1e-3,1e-1))"]


def study(folder):
    return optuna.load_study(study_name="unrolled", storage=f"sqlite:///{folder}/study.db")


def search(folder, *options, trials=3):
    return call_script("train.py", *BASE, *options, f"hydra.sweeper.n_trials={trials}", "sweep.dir=study", cwd=folder)


@pytest.mark.slow
def test_a_study_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path, caplog):
    once, killed = tmp_path / "once", tmp_path / "killed"
    for folder in (once, killed):
        folder.mkdir()
    assert search(once, *SPACE).status == 0
    marked = kill(killed, 2, "on_train_batch_start")
    with pytest.raises(Killed):
        search(killed, *SPACE, *marked)
    assert [trial.state.name for trial in study(killed / "study").trials] == ["RUNNING"]
    assert search(killed, *SPACE, *marked, trials=2).status == 0
    with caplog.at_level(logging.INFO):
        assert search(killed, *SPACE, *marked).status == 0  # more trials
    one, other = (study(folder / "study").trials for folder in (once, killed))
    assert [(trial.number, trial.params, trial.value) for trial in one] == [
        (trial.number, trial.params, trial.value) for trial in other
    ]
    runs = sorted((killed / "study").glob("*/results.json"))
    assert [results(run.parent)["val/bleu"] for run in runs] == [trial.value for trial in other]
    assert len({str(trial.params) for trial in other}) == 3
    found = yaml.safe_load((killed / "study" / "optimization_results.yaml").read_text(encoding="utf-8"))
    best = max(other, key=lambda trial: trial.value)
    assert (found["best_value"], found["best_params"], found["best_trial"]) == (best.value, best.params, best.number)
    assert any(f"the best of 3 trials is {best.number}" in message for message in caplog.messages)
    refused = search(killed, "optimizer.lr=interval(1e-3,1e-1)", *marked)
    assert refused.status == 2
    assert "holds a study of other options (model.readout_dropout=interval(0,0.5), optimizer.lr=" in refused.stderr


@pytest.mark.slow
def test_an_interrupted_study_says_once_how_to_continue(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        assert search(tmp_path, SPACE[0], *kill(tmp_path, 2, "on_train_batch_start", "SIGINT")).status == 130
    said = [message for message in caplog.messages if "continue with" in message]
    assert said == ["interrupted; continue with the same command and sweep.dir=study"]


@pytest.mark.slow
def test_a_diverged_run_is_a_failed_trial(tmp_path):
    sgd = ["optimizer=sgd", "trainer.gradient_clip_val=null"]
    refused = search(tmp_path, *sgd, "optimizer.lr=choice(1e29,1e30)", trials=1)
    assert refused.status == 2
    assert "no trial has a value; see the runs in study" in refused.stderr
    (run,) = (tmp_path / "study").glob("0-*")
    assert results(run)["status"] == "diverged"


@pytest.mark.slow
def test_a_trial_whose_processes_fail_is_a_failed_trial(tmp_path, monkeypatch):
    in_processes, trials = launch._in_processes, []

    def fails_then(*given, **more):  # as run_ranks ends when one of several processes has failed
        trials.append(given)
        if len(trials) == 2:
            sys.exit(1)
        return in_processes(*given, **more)

    monkeypatch.setattr(launch, "_in_processes", fails_then)
    assert search(tmp_path, SPACE[0]).status == 0
    assert [trial.state.name for trial in study(tmp_path / "study").trials] == ["COMPLETE", "FAIL", "COMPLETE"]


@pytest.mark.slow
def test_a_poor_trial_ends_early_and_is_kept(tmp_path):
    early = ["hydra.sweeper.pruner.n_startup_trials=1", "hydra.sweeper.pruner.n_warmup_steps=0"]
    options = ["optimizer.lr=choice(1e-2,1e-7)", "trainer.max_epochs=2", *early]
    assert search(tmp_path, *options, trials=5).status == 0
    trials = study(tmp_path / "study").trials
    states = {(trial.state.name, trial.params["optimizer.lr"]) for trial in trials[1:]}
    assert ("COMPLETE", 1e-2) in states
    assert ("PRUNED", 1e-7) in states
    runs = [results(run.parent) for run in sorted((tmp_path / "study").glob("*/results.json"))]
    assert [run["status"] for run in runs] == [
        {"COMPLETE": "completed", "PRUNED": "pruned"}[trial.state.name] for trial in trials
    ]
    assert {run["epochs"] for run in runs if run["status"] == "pruned"} <= {0, 1}
    assert all(not (run / "weights.safetensors").exists() for run in (tmp_path / "study").glob("*") if
               (run / "results.json").exists() and results(run)["status"] == "pruned")  # fmt: skip
    before = [run.read_bytes() for run in sorted((tmp_path / "study").glob("*/results.json"))]
    assert search(tmp_path, *options, trials=5).status == 0
    assert [run.read_bytes() for run in sorted((tmp_path / "study").glob("*/results.json"))] == before


def test_what_is_given_is_not_searched(tmp_path):
    """The space of conf/sweep/optuna.yaml, but for an option on the command line."""
    options = [option for option in BASE if not option.startswith("model.encoder_size")]
    done = call_script(
        "train.py", *options, "hydra.sweeper.n_trials=1", "sweep.dir=study", "optimizer.lr=0.002", cwd=tmp_path
    )
    assert done.status == 0
    (trial,) = study(tmp_path / "study").trials
    assert set(trial.params) == {"model.encoder_size", "model.readout_dropout"}
    assert math.isfinite(trial.value)


def test_a_study_continues_with_another_cache(tmp_path):
    assert search(tmp_path, *SPACE, "cache=one", trials=1).status == 0
    assert search(tmp_path, *SPACE, "cache=two", "trust=null", trials=1).status == 0


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("here", "hydra.sweeper.storage=here: Could not parse"),
        ("sqlite:////no/such/folder/study.db", "unable to open database file; give the address of a database"),
        ("nosql://a/b", "hydra.sweeper.storage=nosql://a/b: "),
    ],
)
def test_a_storage_that_is_no_database_is_refused(storage, said, tmp_path):
    refused = search(tmp_path, *SPACE, f"hydra.sweeper.storage={storage}")
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert said in refused.stderr


def test_without_optuna_one_line_says_what_to_install(tmp_path, monkeypatch):
    def missing(name, *arguments, **options):
        if name == "optuna":
            raise ImportError(name)
        return real(name, *arguments, **options)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", missing)
    refused = search(tmp_path, *SPACE)
    assert refused.status == 2
    assert 'pip install "unrolled[sweep]"' in refused.stderr
