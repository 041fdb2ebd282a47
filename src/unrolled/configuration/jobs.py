"""What a process should train: a new run, the rest of a run, a run again, or a job of a sweep."""

import logging
import math
import os
from collections.abc import Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.process import RESUMED, is_child
from unrolled.configuration.ranges import check_options
from unrolled.configuration.relocation import READ, at_home, check_links, moved_to
from unrolled.configuration.sweep import Sweep, another_folder, check_single, check_wait, in_sweep, is_job, sweep_of
from unrolled.configuration.trial import this_trial
from unrolled.configuration.values import CONFIG, read_config, read_plain, resolved
from unrolled.errors import UserError, called
from unrolled.files import remove_if_empty
from unrolled.runs.results import read_results
from unrolled.runs.resume import (
    NEXT,
    check_checkpoint,
    check_resumable,
    finish_beginning,
    moved,
    progress,
    status,
)
from unrolled.training.cluster import is_first

log = logging.getLogger(__name__)

LONGER = {"trainer.max_epochs": "epochs", "trainer.max_steps": "updates", "trainer.max_time": "seconds"}
OF_THE_COMMAND = ("cache", "trust")  # what belongs to the command, not to the run


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
    options that ``resume`` does not accept, a sweep folder with another job, options of sweeps for a single run.
    """
    if is_child():
        return Job(config, resume=bool(os.environ.get(RESUMED)))
    if not in_sweep():
        check_single()
    if config.resume is not None:
        return _resumed(config)
    if config.reproduce is not None:
        return _reproduced(config)
    folder = Path(config.run_folder)
    if not in_sweep():
        return Job(config, resume=False)
    check_wait(config)
    if HydraConfig.get().sweep.dir != config.sweep.dir:
        raise UserError(f"hydra.sweep.dir={HydraConfig.get().sweep.dir}: give sweep.dir=... instead")
    if (Path(config.sweep.dir) / CONFIG).is_file():
        raise UserError(f"sweep.dir={config.sweep.dir}: this is the folder of a run: give another one")
    for logger in (config.logger or {}).values():
        if "group" in logger and logger.group is None:
            logger.group = Path(config.sweep.dir).name
    if this_trial() is None and (other := another_folder(folder, config)):
        remove_if_empty(folder)  # which Hydra has made
        folder = other
        config.run_folder = str(folder)
    _finish_beginning(folder)
    if not (folder / CONFIG).is_file():
        return Job(config, resume=False)
    saved = read_plain(str(folder))  # it may name what this command names, and nothing else
    if not is_job(saved, config):
        raise UserError(
            f"sweep.dir={config.sweep.dir}: {folder.name} holds another configuration: give the options of that sweep,"
            " or another sweep.dir"
        )
    ending = status(folder)
    if ending not in ("completed", "diverged", "pruned"):
        check_links(folder)
    if ending == "failed":
        return Job(moved_to(folder, resolved(config), config.cache), resume=False)
    here = DictConfig(moved(resolved(moved_to(folder, saved, config.cache)), sweep_of(saved), config.sweep.dir))
    here.sweep = config.sweep  # its folder may have been moved
    if ending in ("completed", "diverged", "pruned"):
        log.info("%s has %s: nothing to do", folder, ending)
        return Job(here, resume=True, results=read_results(folder))
    return Job(here, resume=True)


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
    again = at_home(run, Path(config.run_folder), config.cache)
    where_it_is = at_home(run, original, config.cache)
    for name in READ:  # what the original's folder holds, the new one does not
        if name in run:
            again[name] = where_it_is[name]
    again.reproduce = str(original)  # for resume=
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
    results = read_results(folder) if finished else None
    return Job(at_home(run, folder, config.cache), resume=True, results=results, original=_original(run, given))


def _original(run: DictConfig, longer: Mapping[str, Any]) -> Path | None:
    """What ``run`` repeats, for comparison; None if it repeats nothing, is trained ``longer``, or that run is gone."""
    if longer or run.get("reproduce") is None:
        return None
    original = Path(str(run.reproduce))
    return original if status(original) == "completed" else None


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


def _finish_beginning(folder: Path) -> None:
    """`finish_beginning`. UserError: a link, through which it would remove files elsewhere."""
    if (folder / NEXT).is_file():
        check_links(folder)
        finish_beginning(folder)


def value(config: DictConfig, results: dict[str, Any]) -> float:
    """The value of a run for a sweeper: the monitored figure of its best checkpoint; NaN if it did not complete."""
    return results.get(config.objective.monitor, math.nan) if results["status"] == "completed" else math.nan


def interrupted(config: DictConfig) -> NoReturn:
    """KeyboardInterrupt, which ends a command with status 130, after a line on how to continue the run or sweep."""
    if in_sweep():
        Sweep.folder = Sweep.folder or config.sweep.dir  # in a process that a launcher started it is not known yet
        Sweep.say_how_to_continue()
    elif is_first():
        log.info("interrupted; continue with %s resume=%s", called("train"), config.run_folder)
    raise KeyboardInterrupt
