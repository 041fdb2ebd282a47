"""What a process should train: a new run, the rest of a run, a run again, or a job of a sweep."""

import hashlib
import json
import logging
import math
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.ranges import check_options
from unrolled.configuration.slots import trusted
from unrolled.configuration.trial import TRIAL, this_trial
from unrolled.configuration.values import CONFIG, load_runs, read_config, read_plain, resolved
from unrolled.data.sampler import evaluated_positions
from unrolled.errors import UserError, called
from unrolled.files import remove_if_empty
from unrolled.runs.results import read_results
from unrolled.runs.resume import (
    NEXT,
    check_checkpoint,
    check_replaceable,
    check_resumable,
    finish_beginning,
    moved,
    progress,
    status,
)
from unrolled.training.ranks import is_first

log = logging.getLogger(__name__)

LONGER = {"trainer.max_epochs": "epochs", "trainer.max_steps": "updates", "trainer.max_time": "seconds"}
OF_THE_COMMAND = ("cache", "trust")  # what belongs to the command, not to the run


def in_sweep() -> bool:
    """Whether this job is one of a multirun."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


_started: list[int] = []
"""The id of the process in which the user's command began."""


def begin_here() -> None:
    """Remember that the user's command begins in this process."""
    _started[:] = [os.getpid()]


def launched_elsewhere() -> bool:
    """Whether this job runs in another process than the command, by a launcher such as joblib or submitit."""
    return _started != [os.getpid()]


class Job(NamedTuple):
    """What a process should train."""

    config: DictConfig
    resume: bool
    """Whether to resume from the run folder's last checkpoint."""
    results: dict[str, Any] | None = None
    """The results of a run that needs no more training."""
    original: Path | None = None
    """The run to reproduce."""


def this_job(config: DictConfig) -> Job:
    """What the command line asks for.

    That is a new run, the rest of a run (``resume=RUN``), a run again (``reproduce=RUN``), or a job of a sweep. If the
    sweep's folder (``sweep.dir=DIR``) already has the job, it is kept if it completed, diverged or was pruned, resumed
    if it was interrupted, and trained again if it failed. UserError: no run folder, a run that cannot be resumed,
    options that ``resume`` does not accept, a sweep folder with another job.
    """
    if is_child():
        return Job(config, resume=bool(os.environ.get(RESUMED)))
    if config.resume is not None:
        return _resumed(config)
    if config.reproduce is not None:
        return _reproduced(config)
    folder = Path(config.run_folder)
    if not in_sweep():
        check_replaceable(folder)
        return Job(config, resume=False)
    check_wait(config)
    if HydraConfig.get().sweep.dir != config.sweep.dir:
        raise UserError(f"hydra.sweep.dir={HydraConfig.get().sweep.dir}: give sweep.dir=... instead")
    if (Path(config.sweep.dir) / CONFIG).is_file():
        raise UserError(f"sweep.dir={config.sweep.dir}: this is the folder of a run: give another one")
    for logger in (config.logger or {}).values():
        if "group" in logger and logger.group is None:
            logger.group = Path(config.sweep.dir).name
    if this_trial() is None and (other := _another_folder(folder, config)):
        remove_if_empty(folder)  # which Hydra has made
        folder = other
        config.run_folder = str(folder)
    _finish_beginning(folder)
    if not (folder / CONFIG).is_file():
        return Job(config, resume=False)
    saved = read_plain(str(folder))  # it may name what this command names, and nothing else
    if not _is_job(saved, config):
        raise UserError(
            f"sweep.dir={config.sweep.dir}: {folder.name} holds another configuration: give the options of that sweep,"
            " or another sweep.dir"
        )
    ending = status(folder)
    if ending == "failed":
        return Job(_moved_to(folder, resolved(config), config.cache), resume=False)
    here = DictConfig(moved(resolved(_moved_to(folder, saved, config.cache)), _sweep_of(saved), config.sweep.dir))
    here.sweep = config.sweep  # its folder may have been moved
    if ending in ("completed", "diverged", "pruned"):
        log.info("%s has %s: nothing to do", folder, ending)
        return Job(here, resume=True, results=read_results(folder))
    return Job(here, resume=True)


def _another_folder(folder: Path, config: DictConfig) -> Path | None:
    """Where the job ``config`` is, or is to be, if not in ``folder``, whose number it has: None if it is there."""
    saved = None
    with suppress(UserError):  # damaged: whoever reads it again says what
        saved = read_plain(str(folder)) if (folder / CONFIG).is_file() else None
    if saved is None:
        return _under_another_number(config) if not (folder / CONFIG).is_file() else None
    if _is_job(saved, config):
        return None
    values_only = _named(saved) == _named(resolved(config))  # a sweep with more values, and not another sweep
    return _under_another_number(config) or (_free(folder, config) if values_only else None)


def _named(config: dict[str, Any]) -> set[str]:
    """The options on the command line."""
    return {str(word).partition("=")[0] for word in config.get("overrides") or ()}


def _under_another_number(config: DictConfig) -> Path | None:
    """The folder of this job, if it had another number when the sweep had fewer or other values of an option."""
    folder = Path(config.run_folder)
    name = folder.name.partition("-")[2]
    for other in sorted(folder.parent.iterdir()) if folder.parent.is_dir() else ():
        called = other.name.partition("-")[2]
        if (called == name or called.startswith(f"{name}-")) and (other / CONFIG).is_file():
            with suppress(UserError):  # damaged
                if _is_job(read_plain(str(other)), config):
                    return other
    return None


def _free(folder: Path, config: DictConfig) -> Path:
    """A folder for the job ``config`` whose number another job had before: its name and a digest of its options."""
    options = json.dumps(_options(resolved(config)), sort_keys=True, default=str)
    return folder.with_name(f"{folder.name}-{hashlib.sha256(options.encode()).hexdigest()[:8]}")


def _is_job(saved: dict[str, Any], config: DictConfig) -> bool:
    """Whether ``saved`` is of the job ``config``, perhaps with smaller batches after memory had run out."""
    return _options(saved) in (_options(resolved(halved)) for halved in halvings(config))


def _options(config: dict[str, Any]) -> dict[str, Any]:
    """The options that make it this job: without the command line's words, wherever folder and cache are."""
    flat = {name: value for name, value in config.items() if name not in ("overrides", "cache")}
    kept = moved(moved(flat, str(config.get("run_folder")), "RUN"), _sweep_of(config), "SWEEP")
    sweep = dict(config.get("sweep") or {})
    sweep.pop("dir", None)
    group = Path(_sweep_of(config)).name
    sweep.pop("wait", None)  # whether it waited for the jobs
    loggers, data = dict(kept.get("logger") or {}), dict(kept.get("data") or {})
    for name, logger in loggers.items():
        if isinstance(logger, dict) and logger.get("group") == group:  # the default
            loggers[name] = logger | {"group": None}
    if isinstance(data.get("module"), dict):
        data["module"] = data["module"] | {"cache": None}
    return kept | {"sweep": sweep, "logger": loggers, "data": data}


def _sweep_of(config: dict[str, Any]) -> str:
    """The folder of the sweep, as the configuration has it."""
    return str((config.get("sweep") or {}).get("dir", ""))


def check_wait(config: DictConfig) -> None:
    """UserError: sweep.wait=false with jobs that run here."""
    if not config.sweep.wait and HydraConfig.get().runtime.choices["hydra/launcher"] != "slurm":
        raise UserError("sweep.wait=false: only hydra/launcher=slurm submits jobs; give both, or neither")


def _overrides(chosen: str, allowed: Collection[str]) -> list[str]:
    """The options on the command line other than ``chosen``; UserError if one is not in ``allowed``."""
    names = []
    if chosen.startswith("resume=") and any(
        it.startswith("hydra.run.dir=") for it in HydraConfig.get().overrides.hydra
    ):
        raise UserError(f"hydra.run.dir=...: {chosen} continues in that run's own folder; omit it")
    for override in HydraConfig.get().overrides.task:
        name, _, _ = override.lstrip("+").partition("=")
        if name not in (chosen.partition("=")[0], *OF_THE_COMMAND):
            names.append(name)
            if name not in allowed:
                also = f"; only {', '.join(allowed)} may be added, to train longer" if allowed else ""
                raise UserError(f"{override}: {chosen} uses that run's own options{also}")
    return names


def _reproduced(config: DictConfig) -> Job:
    """A job with the configuration of that run, in a new folder. UserError: a run that did not complete."""
    run, original = read_config(config.reproduce, "reproduce"), Path(os.path.abspath(config.reproduce))
    _overrides(f"reproduce={config.reproduce}", ())
    if status(original) != "completed":
        raise UserError(f"reproduce={config.reproduce}: this run did not complete, so there is nothing to compare with")
    if os.path.realpath(config.run_folder) == os.path.realpath(original):
        raise UserError(f"reproduce={config.reproduce}: it would be trained over itself: give another hydra.run.dir")
    check_replaceable(Path(config.run_folder))
    again = at_home(run, Path(config.run_folder), config.cache)
    where_it_is = at_home(run, original, config.cache)
    for name in READ:  # what the original's folder holds, the new one does not
        if name in run:
            again[name] = where_it_is[name]
    return Job(again, resume=False, original=original)


def _resumed(config: DictConfig) -> Job:
    """A job with the configuration of that run; longer if trainer.max_epochs, max_steps or max_time say so."""
    folder = Path(os.path.abspath(config.resume))
    _finish_beginning(folder)
    if folder.is_dir() and not (folder / CONFIG).exists():
        raise UserError(
            f"resume={config.resume}: this is no run, or one that ended before its first batch: repeat its own command"
        )
    run = read_config(config.resume, "resume")
    if "trainer" not in run:  # imported
        check_checkpoint(folder)
    trainer = resolved(run.trainer)
    given = {name: OmegaConf.select(config, name) for name in _overrides(f"resume={config.resume}", LONGER)}
    for name, value in given.items():
        OmegaConf.update(run, name, value)
    check_resumable(folder)
    if given:
        check_options(run, "train")  # before the limits are compared
        _check_longer(given, folder)
    finished = status(folder) == "completed" and resolved(run.trainer) == trainer
    check_links(folder)
    if not finished:
        check_checkpoint(folder)
    if in_sweep():
        remove_if_empty(Path(HydraConfig.get().runtime.output_dir))  # which Hydra has made for a new run
    return Job(at_home(run, folder, config.cache), resume=True, results=read_results(folder) if finished else None)


def _check_longer(given: Mapping[str, Any], folder: Path) -> None:
    """UserError: a limit in ``given`` that the run in ``folder`` has already reached."""
    done = progress(folder)
    ended = read_results(folder) if (folder / "results.json").is_file() else {}
    updates = max(done.updates, int(ended.get("steps") or 0))  # the last checkpoint may be older
    reached = {"trainer.max_steps": updates, "trainer.max_epochs": done.epochs, "trainer.max_time": done.seconds}
    for name, limit in given.items():
        number = _seconds(limit) if name == "trainer.max_time" else limit
        if number is not None and 0 <= number <= reached[name]:
            done_so_far = f"{reached[name]:.0f} {LONGER[name]}"
            raise UserError(f"{name}={limit}: this run has already trained for {done_so_far}; give more")


def _seconds(time: str | None) -> float | None:
    """DD:HH:MM:SS, as trainer.max_time takes it, in seconds."""
    if time is None:
        return None
    days, hours, minutes, seconds = map(int, time.split(":"))
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()


READ = ("data", "search", "validation_search", "alignment")
"""Parts of a configuration that name files to read."""
WRITTEN = ("folder", "path", "dirpath", "filename", "save_dir", "default_root_dir")
"""Options of callbacks, loggers and the trainer that say where to write."""
WITHIN = {"filename": ["dirpath"], "name": ["save_dir"], "version": ["save_dir", "name"]}
WITHIN["sub_dir"] = [*WITHIN["version"], "version"]
"""Options that name a file or folder within that of others; ``name`` and so on only of loggers with a ``save_dir``."""


def at_home(run: DictConfig, folder: Path, cache: str) -> DictConfig:
    """The configuration of a run, writing in ``folder``, wherever the run was before, and in this command's ``cache``.

    UserError: a configuration that would write anywhere else.
    """
    if not (isinstance(run.get("run_folder"), str) and run.run_folder):
        raise UserError(f"{folder}/config.yaml: run_folder is missing; restore the run's own file")
    here = _moved_to(folder, resolved(run), cache)
    for path, options in _callbacks_and_loggers(here):
        for name in (*WRITTEN, *(WITHIN if "save_dir" in options else {})):
            value = options.get(name)
            outer = [str(options[other]) for other in WITHIN.get(name, []) if options.get(other) is not None]
            place = Path(str(folder), *outer) if name in WITHIN else Path()
            leads = "$" in str(value) and "save_dir" in options  # TensorBoard's writer expands variables
            if value is not None and (leads or not _is_inside(place / str(value), folder)):
                raise UserError(
                    f"{folder}/config.yaml: {path}.{name}={value} points outside the run folder; if the run is your "
                    "own, write a path inside it there"
                )
    return here


def _moved_to(folder: Path, run: dict[str, Any], cache: str) -> DictConfig:
    """The configuration ``run`` as if it had always been in ``folder``, with this command's ``cache``."""
    here = DictConfig(moved(run, run["run_folder"], str(folder)))
    here.cache = cache
    if OmegaConf.select(here, "data.module.cache") is not None:
        here.data.module.cache = cache
    return here


def _callbacks_and_loggers(config: DictConfig) -> list[tuple[str, DictConfig]]:
    callbacks = [(f"callbacks.{name}", node) for name, node in (config.get("callbacks") or {}).items()]
    loggers = [(f"logger.{name}", node) for name, node in (config.get("logger") or {}).items()]
    nodes = [*callbacks, *loggers, ("trainer", config.get("trainer"))]
    return [(path, node) for path, node in nodes if isinstance(node, DictConfig)]


def _is_inside(path: Path, folder: Path) -> bool:
    """Whether ``path``, links followed, is ``folder`` or in it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _finish_beginning(folder: Path) -> None:
    """`finish_beginning`. UserError: a link, through which it would remove files elsewhere."""
    if (folder / NEXT).is_file():
        check_links(folder)
        finish_beginning(folder)


def check_links(folder: Path) -> None:
    """UserError: a file or folder in a run folder that is a link to one elsewhere, over which training would write."""
    for place, folders, files in os.walk(folder):
        for path in (Path(place) / name for name in [*folders, *files]):
            if path.is_symlink() and not _is_inside(path, folder):
                raise UserError(f"{path} is a link that points outside the run folder; put the file itself there")
        if "wandb" in folders:  # which keeps links to its own logs
            folders.remove("wandb")


def value(config: DictConfig, results: dict[str, Any]) -> float:
    """The value of a run for a sweeper: the monitored figure of its best checkpoint; NaN if it did not complete."""
    return results.get(config.objective.monitor, math.nan) if results["status"] == "completed" else math.nan


def interrupted(config: DictConfig) -> NoReturn:
    """KeyboardInterrupt, which ends a command with status 130, after a line on how to continue the run or sweep."""
    sweep = f"the same command and sweep.dir={config.sweep.dir}"
    again = sweep if in_sweep() else f"{called('train')} resume={config.run_folder}"
    if is_first():
        log.info("interrupted; continue with %s", again)
    raise KeyboardInterrupt


class Sweep(Callback):
    """Hydra's callback of a sweep, for the process that launches jobs in others: it knows the folder of the sweep."""

    folder: str | None = None

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Keep the folder in mind."""
        Sweep.folder = config.sweep.dir

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Show all its runs in one table, and forget it. A sweep over ``resume`` has its runs elsewhere."""
        folder, Sweep.folder = Sweep.folder, None
        if folder is not None and not is_child() and next(Path(folder).glob(f"*/{CONFIG}"), None):
            from unrolled.comparison.sweep_table import sweep_table  # which only the end of a sweep needs

            sys.stdout.write(f"\n{folder}\n{sweep_table(load_runs(folder))}")
            sys.stdout.flush()

    @classmethod
    def say_how_to_continue(cls) -> None:
        """A line, if this process has launched a sweep, which has been interrupted."""
        if cls.folder is not None:
            log.info("interrupted; continue with the same command and sweep.dir=%s", cls.folder)
            cls.folder = None


RESOLVED = "UNROLLED_CONFIG"
"""Environment variable: the path of a resolved configuration that replaces the command line."""
RESUMED = "UNROLLED_RESUMED"
"""Environment variable: not empty if that run should be resumed."""


TRUSTED = "UNROLLED_TRUSTED"
"""Environment variable: the packages that run folders may name, separated by spaces."""


CALLED = "UNROLLED_CALLED"
"""Environment variable: sys.argv of the command, as JSON, for messages and provenance.json."""


def is_child() -> bool:
    """Whether this process is one of several that train.py started for its run."""
    return RESOLVED in os.environ


def rank_environment(config: Path, *, resume: bool) -> dict[str, str]:
    """Environment variables that tell each of several processes its resolved configuration, and whether to resume."""
    trial = this_trial()
    return {
        RESOLVED: str(config),
        RESUMED: "1" if resume else "",
        TRUSTED: " ".join(trusted()),
        CALLED: json.dumps(sys.argv),
        TRIAL: "" if trial is None else trial.to_environment(),
    }


def halved(config: DictConfig) -> DictConfig:
    """``config`` with half the token budget, and twice the batches per update.

    Numbers of batches are raised accordingly; those of validation and test cover as many positions as before, or more.
    """
    less = DictConfig(resolved(config))
    if "max_tokens" in config.data:
        for path in ("data.max_tokens", "data.module.max_tokens"):
            OmegaConf.update(less, path, config.data.max_tokens // 2)
        before, after = (evaluated_positions(it.data.max_tokens) for it in (config, less))
        for name in ("limit_val_batches", "limit_test_batches"):
            if isinstance(config.trainer.get(name), int):
                less.trainer[name] = -(-config.trainer[name] * before // after)  # rounded up
    less.trainer.accumulate_grad_batches = 2 * config.trainer.accumulate_grad_batches
    for name in ("val_check_interval", "limit_train_batches"):
        if isinstance(config.trainer.get(name), int):  # which counts batches
            less.trainer[name] = 2 * config.trainer[name]
    return less


def can_be_halved(config: DictConfig) -> bool:
    """Whether half the token budget would make smaller batches: not for a stream, which has its rows and steps."""
    return config.data.get("max_tokens", 1) > 1 and not config.data.get("stream")


def halvings(config: DictConfig) -> Iterator[DictConfig]:
    """``config``, and what it becomes each time that it runs out of memory."""
    yield config
    while can_be_halved(config):
        config = halved(config)
        yield config
