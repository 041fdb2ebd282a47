"""An Optuna study as a sweep: trials are run folders, and an interrupted study can be resumed.

Hydra's own Optuna sweeper, whose syntax of search spaces and options are used here, needs Optuna 2, restarts trials in
existing folders, ends with the first that fails, and trains every trial to its end.
"""

import io
import logging
import re
import traceback
from contextlib import redirect_stderr
from functools import partial
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from unrolled.configuration.failures import Launch, Reported
from unrolled.configuration.jobs import OF_THE_COMMAND
from unrolled.configuration.mistakes import full_disk, users_mistake
from unrolled.configuration.search_space import search_space
from unrolled.configuration.trial import PRUNED, STUDY
from unrolled.configuration.values import to_yaml
from unrolled.errors import POSITIVE_WHOLE, WHOLE, OneOf, UserError, check, counted
from unrolled.files import write_text
from unrolled.runs.lock import locked

log = logging.getLogger(__name__)

MEANT_OTHERWISE = re.compile(r"[?{}]|%[0-9A-Fa-f]{2}")  # by SQLAlchemy and Optuna
DIRECTIONS = {"max": "maximize", "min": "minimize"}


def launcher(*, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> Launch:
    """The function that trains a batch of jobs: Hydra's launcher of ``config``."""
    plugins = Plugins.instance()
    return plugins.instantiate_launcher(hydra_context=hydra_context, task_function=task_function, config=config).launch


def sweep(
    arguments: list[str],
    config: DictConfig,
    launch: Launch,
    *,
    sampler: "partial[Any]",
    pruner: Any,
    storage: str,
    direction: str,
    n_trials: int,
    n_jobs: int,
    params: dict[str, Any],
) -> None:
    """Train until the study in ``storage`` has ``n_trials`` trials, ``n_jobs`` at a time.

    arguments: of the command line; if they have a search space, ``params`` is not used. direction: ``max`` or ``min``
    of what a job returns, as ``objective.mode``. ``pruner`` ends poor trials early. NaN, as from a diverged run, is a
    failed trial, and so is an error once a trial has had a value. UserError: no Optuna, a storage with a study of other
    options, of the other direction or of another Optuna, a study that another command is at, no trial with a value, a
    folder that ``storage`` cannot name.
    """
    try:
        import optuna
    except ImportError as problem:
        raise UserError('sweep=optuna: Optuna is not installed: pip install "unrolled[sweep]"') from problem
    if not config.sweep.wait:
        raise UserError("sweep.wait=false: a search must wait for the results of its trials; omit it")
    optuna.logging.set_verbosity(logging.WARNING)
    check("hydra.sweeper.n_trials", n_trials, POSITIVE_WHOLE)
    check("hydra.sweeper.n_jobs", n_jobs, POSITIVE_WHOLE)
    check("hydra.sweeper.direction", direction, OneOf(tuple(DIRECTIONS)))
    if direction != config.objective.mode:  # which decides on the best checkpoint of a trial
        raise UserError(f"hydra.sweeper.direction={direction}: objective.mode is {config.objective.mode}; omit it")
    check("hydra.sweeper.sampler.seed", sampler.keywords.get("seed"), WHOLE)
    overrides = OverridesParser.create().parse_overrides(arguments)
    if not any(override.is_sweep_override() for override in overrides):
        names = {override.get_key_element() for override in overrides}
        arguments = [*(f"{name}={value}" for name, value in params.items() if name not in names), *arguments]
    space, fixed = search_space(arguments)
    folder = Path(config.hydra.sweep.dir)
    if (name := str(config.hydra.sweep.dir)) in storage and (symbols := MEANT_OTHERWISE.search(name)):
        raise UserError(
            f"sweep.dir={folder}: {symbols[0]} has a meaning in the address of a database: give another sweep.dir"
        )
    with locked(folder):  # another command would take its running trials for interrupted ones
        study = _opened(storage, direction=DIRECTIONS[direction], pruner=pruner)
        _check_same(study, sorted(arguments), direction, folder)

        def options(trial: Any) -> tuple[str, ...]:
            chosen = {name: trial._suggest(name, distribution) for name, distribution in space.items()}
            return tuple(f"{name}={value}" for name, value in (fixed | chosen).items())

        def ask(interrupted: Any = None) -> Any:
            """A new trial, or one that was interrupted, perhaps before all its values were stored."""
            # a seed for each trial: an interrupted study suggests what it would have suggested
            number = len(study.trials) if interrupted is None else interrupted.number
            study.sampler = sampler(seed=sampler.keywords["seed"] + number)
            if interrupted is None:
                return study.ask(space)
            trial = optuna.trial.Trial(study, interrupted._trial_id)
            for name, distribution in space.items():
                if name in interrupted.params and not distribution.single():  # drawn again for the next one's sake
                    study.sampler.sample_independent(study, interrupted, name, distribution)
                trial._suggest(name, distribution)
            return trial

        running = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.RUNNING]
        trials = [ask(interrupted) for interrupted in running]
        while trials or len(study.trials) < n_trials:
            while len(trials) < n_jobs and len(study.trials) < n_trials:
                trials.append(ask())
            ended: list[tuple[Any, JobReturn]] = []
            for batch in _consecutive(trials[:n_jobs]):
                jobs = [options(trial) for trial in batch]
                ended.extend(zip(batch, launch(jobs, batch[0].number), strict=True))
            for trial, job in sorted(ended, key=lambda it: it[1].status == JobStatus.FAILED):  # values come first
                _tell(study, trial, job)
            trials = trials[n_jobs:]
        _conclude(study, folder)


def _opened(storage: str, **options: Any) -> Any:
    """The study in ``storage``, a new one if there is none. UserError: no database, or one of another Optuna."""
    import optuna
    from sqlalchemy.exc import SQLAlchemyError  # which Optuna has loaded

    try:
        return optuna.create_study(storage=storage, study_name=STUDY, load_if_exists=True, **options)
    except RuntimeError as problem:  # Optuna compares the version of its tables
        raise UserError(
            f"{storage} was made by another version of Optuna: optuna storage upgrade --storage {storage}"
        ) from problem
    except (SQLAlchemyError, ValueError, ImportError) as problem:
        why = str(problem).splitlines()[0]
        raise UserError(
            f"hydra.sweeper.storage={storage}: {why}; give the address of a database, such as sqlite:///study.db"
        ) from problem


def _check_same(study: Any, options: list[str], direction: str, folder: Path) -> None:
    options = _of_the_runs(options)
    known = _of_the_runs(study.user_attrs.get("options", options))  # as an earlier version may have kept them
    if known != options:
        other = ", ".join(sorted(set(known) ^ set(options)))
        raise UserError(
            f"sweep.dir={folder} holds a study of other options ({other}): give those, or another sweep.dir"
        )
    if study.direction.name.lower() != DIRECTIONS[direction]:
        (there,) = DIRECTIONS.keys() - {direction}
        raise UserError(
            f"hydra.sweeper.direction={direction}: sweep.dir={folder} holds a study whose direction is {there}: give "
            "another sweep.dir"
        )
    study.set_user_attr("options", options)


def _of_the_runs(options: list[str]) -> list[str]:
    """``options`` without those of the command alone."""
    of_the_command = ("sweep.dir=", *(f"{name}=" for name in OF_THE_COMMAND))
    return [option for option in options if not option.startswith(of_the_command)]


def _consecutive(trials: list[Any]) -> list[list[Any]]:
    """Groups of trials with consecutive numbers: the launcher counts up from the first."""
    groups = groupby(enumerate(trials), lambda item: item[1].number - item[0])
    return [[trial for _, trial in group] for _, group in groups]


def _tell(study: Any, trial: Any, job: JobReturn) -> None:
    from optuna.trial import TrialState

    if study.trials[trial.number].user_attrs.get(PRUNED):
        study.tell(trial, state=TrialState.PRUNED)
        log.info("trial %d was stopped early: others had done better by then", trial.number)
        return
    why = "it has no value"
    try:
        with redirect_stderr(io.StringIO()):  # where Hydra writes the options of a job that failed
            value = float(job.return_value)
    except Exception as problem:
        killed = isinstance(problem, Reported) and problem.killed  # it resumes
        if killed or not any(other.state == TrialState.COMPLETE for other in study.trials) or full_disk(problem):
            raise
        value, mistake = float("nan"), str(problem) if isinstance(problem, Reported) else users_mistake(problem)
        why = mistake or "".join(traceback.format_exception(problem))
    if isfinite(value):
        study.tell(trial, value)
        log.info(
            "trial %d: %.6g; the best is trial %d, %.6g", trial.number, value, study.best_trial.number, study.best_value
        )
    else:
        study.tell(trial, state=TrialState.FAIL)
        log.warning("trial %d failed: %s", trial.number, why)


def _conclude(study: Any, folder: Path) -> None:
    from optuna.trial import TrialState

    if not any(trial.state == TrialState.COMPLETE for trial in study.trials):
        raise UserError(f"sweep=optuna: no trial has a value; see the runs in {folder}")
    best = study.best_trial
    facts = {"name": "optuna", "best_params": best.params, "best_value": best.value, "best_trial": best.number}
    write_text(folder / "optimization_results.yaml", to_yaml(DictConfig(facts)))
    chosen = " ".join(f"{name}={value}" for name, value in best.params.items())
    trials = counted(len(study.trials), "trial")
    log.info("the best of %s is %d, %.6g: %s", trials, best.number, best.value, chosen)
