"""A study whose jobs are functions: what is asked and told, and how it is resumed."""

import errno
import math
import os
import sqlite3
from functools import cache, partial
from unittest.mock import patch

import pytest
from hydra.core.utils import JobReturn, JobStatus
from hydra.utils import instantiate
from omegaconf import OmegaConf

from unrolled.configuration.failures import Reported
from unrolled.configuration.study import sweep
from unrolled.configuration.trial import Trial
from unrolled.errors import UserError

optuna = pytest.importorskip("optuna", reason="the extra 'sweep' is not installed")


@pytest.fixture(autouse=True, scope="module")
def _version_read_once():
    """Which tables Optuna has: it looks through all of its migrations whenever it opens a storage."""
    manager = pytest.importorskip("optuna.storages._rdb.storage")._VersionManager
    read, known = manager.get_head_version, []

    def once(self):
        if not known:
            known.append(read(self))
        return known[0]

    with patch.object(manager, "get_head_version", once):
        yield


SPACE = ["model.size=choice(8,16,32)", "optimizer.lr=tag(log,interval(1e-4,1e-1))"]


class Ended(BaseException):
    """As a killed process."""


class Study:
    """One in ``folder``; the value of a job is ``value`` of its options."""

    def __init__(self, folder, value, pruner=None):
        self.folder, self.value = folder, value
        self.pruner = pruner or {"_target_": "optuna.pruners.NopPruner"}
        self.launched = []
        self.wait = True

    @property
    def storage(self):
        return f"sqlite:///{self.folder}/study.db"

    def launch(self, jobs, initial_job_idx):
        self.launched.append((initial_job_idx, len(jobs)))
        returns = []
        for job in jobs:
            returned = JobReturn()
            returned.status = JobStatus.COMPLETED
            try:
                returned.return_value = self.value(dict(option.split("=", 1) for option in job))
            except Exception as problem:
                returned.status, returned.return_value = JobStatus.FAILED, problem
            returns.append(returned)
        return returns

    def sweep(self, *arguments, trials=6, jobs=1, direction="max", mode=None, params=None):
        sweep(
            list(arguments),
            OmegaConf.create(
                {
                    "hydra": {"sweep": {"dir": str(self.folder)}},
                    "sweep": {"wait": self.wait},
                    "objective": {"mode": mode or direction},
                }
            ),
            self.launch,
            sampler=partial(optuna.samplers.TPESampler, seed=1, n_startup_trials=3),
            pruner=instantiate(self.pruner),
            storage=self.storage,
            direction=direction,
            n_trials=trials,
            n_jobs=jobs,
            params=params or {},
        )

    def trials(self):
        study = optuna.load_study(study_name="unrolled", storage=self.storage)
        return [(trial.number, trial.state.name, trial.value, trial.params) for trial in study.trials]


def rate(options):
    return -abs(math.log10(float(options["optimizer.lr"])) + 2.5)


def failing(options, first=1e-2, problem=None):
    """Above a learning rate: no number, or an error."""
    if float(options["optimizer.lr"]) < first:
        return rate(options)
    if problem is not None:
        raise problem
    return math.nan


@pytest.mark.parametrize(("direction", "best"), [("max", max), ("min", min)])
def test_the_best_is_found_and_written(direction, best, tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, direction=direction)
    value = best(value for _, _, value, _ in study.trials())
    found = OmegaConf.load(tmp_path / "study" / "optimization_results.yaml")
    assert found.best_value == value
    assert study.trials()[found.best_trial][2:] == (value, dict(found.best_params))
    assert study.launched == [(number, 1) for number in range(6)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The trials of a study that nobody killed."""
    whole = Study(tmp_path_factory.mktemp("whole"), rate)
    whole.sweep(*SPACE)
    return whole.trials()


@pytest.mark.parametrize("killed", range(6))
def test_it_goes_on_with_the_trial_that_was_running_and_suggests_what_it_would_have(killed, undisturbed, tmp_path):
    assert len({str(params) for *_, params in undisturbed}) == 6

    def once(options):
        study.value = rate if len(study.launched) > killed else once
        if study.value is rate:
            raise Ended
        return rate(options)

    study = Study(tmp_path / "study", once)
    with pytest.raises(Ended):
        study.sweep(*SPACE)
    assert study.trials()[-1][:2] == (killed, "RUNNING")
    study.sweep(*SPACE)
    assert study.trials() == undisturbed
    assert study.launched[killed : killed + 2] == [(killed, 1)] * 2
    study.sweep(*SPACE)  # nothing is left to do
    assert len(study.launched) == 7


@pytest.mark.parametrize("stored", [0, 1])
def test_a_trial_whose_values_were_not_all_stored_gets_those_it_would_have_had(stored, undisturbed, tmp_path):
    suggest, counted = optuna.trial.Trial._suggest, []

    def until_killed(trial, *of_one):
        counted.append(trial)
        if len(counted) > stored:
            raise Ended
        return suggest(trial, *of_one)

    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, trials=1)
    with patch.object(optuna.trial.Trial, "_suggest", until_killed), pytest.raises(Ended):
        study.sweep(*SPACE)
    assert [len(params) for *_, params in study.trials()] == [len(SPACE), stored]
    study.sweep(*SPACE)
    assert study.trials() == undisturbed


def test_a_study_that_another_command_is_at_is_refused(tmp_path):
    study, second = Study(tmp_path / "study", rate), Study(tmp_path / "study", rate)

    def started_twice(options):
        process = os.fork()
        if process == 0:
            status = 1
            try:
                second.sweep(*SPACE, trials=1)
            except UserError as refused:
                status = 2 if "has been at it since" in str(refused) and not second.launched else 1
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 2
        assert (tmp_path / "study" / ".lock").is_file()
        return rate(options)

    study.value = started_twice
    study.sweep(*SPACE, trials=1)
    assert [state for _, state, _, _ in study.trials()] == ["COMPLETE"]
    assert sorted(os.listdir(tmp_path / "study")) == ["optimization_results.yaml", "study.db"]


def test_several_at_a_time_keep_their_numbers(tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, trials=3, jobs=2)
    assert study.launched == [(0, 2), (2, 1)]
    study.sweep(*SPACE, trials=7, jobs=2)
    assert study.launched == [(0, 2), (2, 1), (3, 2), (5, 2)]


def test_running_trials_with_a_gap_between_are_launched_apart(tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, trials=1)
    there = optuna.load_study(study_name="unrolled", storage=study.storage)
    asked = [there.ask() for _ in range(3)]
    there.tell(asked[1], state=optuna.trial.TrialState.FAIL)
    study.sweep(*SPACE, trials=4, jobs=2)
    assert study.launched[1:] == [(1, 1), (3, 1)]


def test_no_number_and_a_late_error_are_failed_trials(tmp_path):
    nan = Study(tmp_path / "nan", failing)
    nan.sweep(*SPACE)
    states = {number: state for number, state, _, _ in nan.trials()}
    assert set(states.values()) == {"COMPLETE", "FAIL"}
    for number, state, value, params in nan.trials():
        assert (state == "FAIL") == (params["optimizer.lr"] >= 1e-2) == (value is None), number
    late = Study(tmp_path / "late", partial(failing, problem=ValueError("by a test")))
    late.sweep(*SPACE)
    assert {number: state for number, state, _, _ in late.trials()} == states


def test_a_trial_that_fails_is_one_line_for_a_mistake_and_has_its_traceback_for_an_error(tmp_path, caplog, capsys):
    for problem in (UserError("attention=none: no such model"), ValueError("by a test")):
        caplog.clear()
        Study(tmp_path / type(problem).__name__, partial(failing, problem=problem)).sweep(*SPACE)
        said = next(message for message in caplog.messages if "failed" in message)
        assert said.startswith("trial ")
        assert str(problem) in said
        assert ("Traceback" in said) == isinstance(problem, ValueError)
        assert ("\n" in said) == isinstance(problem, ValueError)
    assert not capsys.readouterr().err


def test_a_trial_of_several_processes_that_fails_is_a_failed_trial_and_a_killed_one_is_tried_again(tmp_path, caplog):
    failed = Study(tmp_path / "failed", partial(failing, problem=Reported(1, killed=False)))
    failed.sweep(*SPACE)
    assert {state for _, state, _, _ in failed.trials()} == {"COMPLETE", "FAIL"}
    said = [message for message in caplog.messages if "failed" in message]
    assert all(message.endswith("failed: one of its processes has reported why") for message in said)
    killed = Study(tmp_path / "killed", partial(failing, problem=Reported(1, killed=True)))
    with pytest.raises(Reported):
        killed.sweep(*SPACE)
    assert [state for _, state, _, _ in killed.trials()][-1] == "RUNNING"


def test_a_full_disk_ends_the_study(tmp_path):
    late = Study(tmp_path / "full", partial(failing, problem=OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        late.sweep(*SPACE)


def test_an_infinite_value_is_a_failed_trial(tmp_path):
    study = Study(tmp_path / "study", lambda options: math.inf if float(options["optimizer.lr"]) >= 1e-2 else -1.0)
    study.sweep(*SPACE)
    states = {(state, params["optimizer.lr"] >= 1e-2) for _, state, _, params in study.trials()}
    assert states == {("FAIL", True), ("COMPLETE", False)}


def test_an_error_before_any_value_ends_the_study(tmp_path):
    early = Study(tmp_path / "study", partial(failing, first=0, problem=ValueError("by a test")))
    with pytest.raises(ValueError, match="by a test"):
        early.sweep(*SPACE)
    assert [state for _, state, _, _ in early.trials()] == ["RUNNING"]  # the same command tries it again


def test_a_value_is_recorded_before_an_error_of_the_same_batch(tmp_path):
    def first_fails(options):
        first.append(options)
        if options == first[0]:
            raise ValueError("by a test")
        return rate(options)

    first = []
    study = Study(tmp_path / "study", first_fails)
    study.sweep(*SPACE, trials=2, jobs=2)
    assert [state for _, state, _, _ in study.trials()] == ["FAIL", "COMPLETE"]


def test_a_value_is_recorded_before_an_error_of_trials_launched_apart(tmp_path):
    study = Study(tmp_path / "study", None)
    before = Study(tmp_path / "study", partial(failing, first=0))
    with pytest.raises(UserError, match="no trial has a value"):
        before.sweep(*SPACE, trials=1)
    there = optuna.load_study(study_name="unrolled", storage=study.storage)
    asked = [there.ask() for _ in range(3)]
    there.tell(asked[1], state=optuna.trial.TrialState.FAIL)

    def first_fails(options):
        if len(study.launched) == 1:
            raise ValueError("by a test")
        return rate(options)

    study.value = first_fails
    study.sweep(*SPACE, trials=4, jobs=2)
    assert study.launched == [(1, 1), (3, 1)]
    assert [state for _, state, _, _ in study.trials()] == ["FAIL", "FAIL", "FAIL", "COMPLETE"]


def test_no_value_at_all_is_said(tmp_path):
    with pytest.raises(UserError, match="no trial has a value"):
        Study(tmp_path / "study", partial(failing, first=0)).sweep(*SPACE, trials=2)


def test_what_the_command_line_gives_comes_before_the_file(tmp_path):
    params = {"model.size": "choice(8,16)", "optimizer.lr": "interval(0.001,0.01)"}
    fixed = Study(tmp_path / "fixed", rate)
    fixed.sweep("optimizer.lr=0.002", trials=1, params=params)
    assert set(fixed.trials()[0][3]) == {"model.size"}
    own = Study(tmp_path / "own", rate)
    own.sweep(SPACE[1], trials=1, params=params)
    assert set(own.trials()[0][3]) == {"optimizer.lr"}


def test_another_space_needs_another_folder(tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, f"sweep.dir={tmp_path / 'study'}", trials=1)
    study.sweep(*SPACE, trials=2)  # named in another way
    with pytest.raises(UserError, match=r"holds a study of other options \(model.size=choice\(8,16,32\)\)"):
        study.sweep(SPACE[1], trials=3)


def test_a_study_keeps_its_direction(tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, trials=1)
    with pytest.raises(UserError, match=r"^hydra.sweeper.direction=min: sweep.dir=.* holds a study .* max: ") as caught:
        study.sweep(*SPACE, trials=2, direction="min")
    assert "\n" not in str(caught.value)
    assert len(study.launched) == 1


def test_a_study_has_the_direction_of_the_objective(tmp_path):
    """By which each trial chooses its best checkpoint, and its early end."""
    with pytest.raises(UserError, match=r"^hydra.sweeper.direction=min: objective.mode is max"):
        Study(tmp_path / "study", rate).sweep(*SPACE, trials=1, direction="min", mode="max")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("name", ["what?", "{x}", "a}", "100%25"])
def test_a_folder_that_its_database_cannot_be_in_is_refused(name, tmp_path):
    with pytest.raises(UserError, match=r"^sweep.dir=") as caught:
        Study(tmp_path / name, rate).sweep(*SPACE, trials=1)
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_any_other_folder_has_its_database(tmp_path):
    Study(tmp_path / "é 100% of #1&2 [a,b]", rate).sweep(*SPACE, trials=1)
    assert (tmp_path / "é 100% of #1&2 [a,b]" / "study.db").is_file()


MEDIAN = {"_target_": "optuna.pruners.MedianPruner", "n_startup_trials": 2, "n_warmup_steps": 1}
HYPERBAND = {"_target_": "optuna.pruners.HyperbandPruner", "min_resource": 1, "max_resource": 5, "reduction_factor": 3}
HALVING = {"_target_": "optuna.pruners.SuccessiveHalvingPruner", "min_resource": 1, "reduction_factor": 3}
BY_TARGET = {None: None} | {pruner["_target_"]: pruner for pruner in (MEDIAN, HYPERBAND, HALVING)}
EPOCHS = 5


class Pruned(Study):
    """Its jobs report after every epoch; ``epochs`` counts them, ``killed`` is the one after which the process ends."""

    def __init__(self, folder, pruner, killed=None):
        super().__init__(folder, rate, pruner)
        self.epochs, self.killed = 0, killed

    def launch(self, jobs, initial_job_idx):
        (returned,) = super().launch(jobs, initial_job_idx)
        trial = Trial(self.storage, initial_job_idx, self.pruner)
        for epoch in range(1, EPOCHS + 1):
            self.epochs += 1
            if self.epochs == self.killed:
                raise Ended
            if trial.report(epoch, returned.return_value - 1 / epoch):
                returned.return_value = math.nan
                break
        return [returned]


@pytest.fixture(scope="module")
def pruned(tmp_path_factory):
    """``pruned(pruner)``: a study of twelve trials of which nothing was killed, made once."""

    @cache
    def make(target):
        whole = Pruned(tmp_path_factory.mktemp("whole"), BY_TARGET[target])
        whole.sweep(*SPACE, trials=12)
        return whole

    return lambda pruner: make(pruner and pruner["_target_"])


@pytest.mark.parametrize("pruner", [MEDIAN, HYPERBAND, HALVING], ids=["median", "hyperband", "halving"])
def test_poor_trials_end_early_and_the_best_is_the_same(pruner, pruned):
    whole = pruned(None)
    assert whole.epochs == 12 * EPOCHS
    study = pruned(pruner)
    assert {state for _, state, _, _ in study.trials()} == {"COMPLETE", "PRUNED"}
    assert study.epochs < 0.8 * whole.epochs
    best = OmegaConf.load(study.folder / "optimization_results.yaml")
    assert best.best_value > max(value for _, state, value, _ in study.trials() if state == "PRUNED")


@pytest.mark.parametrize(
    ("pruner", "killed"), [(MEDIAN, 1), (MEDIAN, 14), (HYPERBAND, 7), (HYPERBAND, 17), (HALVING, 9)]
)
def test_a_killed_study_with_early_ends_goes_on_as_if_it_had_not_been(pruner, killed, pruned, tmp_path):
    study = Pruned(tmp_path / "study", pruner, killed=killed)
    with pytest.raises(Ended):
        study.sweep(*SPACE, trials=6)
    study.sweep(*SPACE, trials=6)
    assert study.trials() == pruned(pruner).trials()[:6]  # a trial is suggested and ended by those before it


def test_a_study_of_an_older_optuna_is_one_line(tmp_path):
    study = Study(tmp_path / "study", rate)
    study.sweep(*SPACE, trials=1)
    with sqlite3.connect(tmp_path / "study" / "study.db") as tables:
        tables.execute("update alembic_version set version_num = 'v2.6.0.a'")
    with pytest.raises(UserError, match="optuna storage upgrade --storage sqlite:///"):
        study.sweep(*SPACE, trials=2)


def test_a_study_cannot_but_wait(tmp_path):
    study = Study(tmp_path / "study", lambda options: 1.0)
    study.wait = False
    with pytest.raises(UserError, match=r"sweep\.wait=false"):
        study.sweep(*SPACE)
    assert study.launched == []


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (SPACE, {"jobs": 0}, "hydra.sweeper.n_jobs=0: give a whole number from 1"),
        (SPACE, {"trials": "abc"}, "hydra.sweeper.n_trials=abc: give a whole number from 1"),
        (SPACE, {"direction": "maximize"}, "hydra.sweeper.direction=maximize: give max or min"),
        (["optimizer.lr=interval(1e-2,1e-4)"], {}, "optimizer.lr=interval(1e-2,1e-4): `low <= high` must hold"),
        (["model.layers=range(4,8,0)"], {}, "model.layers=range(4,8,0): "),
        (["optimizer.lr=tag(log,interval(0,1e-2))"], {}, "optimizer.lr=tag(log,interval(0,1e-2)): "),
    ],
)
def test_options_that_make_no_search_are_refused_in_one_line(arguments, options, said, tmp_path):
    with pytest.raises(UserError) as caught:
        Study(tmp_path / "study", rate).sweep(*arguments, **options)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)
