"""Around a training: which run it is, how many processes, running out of memory, and the value for a sweep."""

import logging
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig

from unrolled.configuration.build import name_kind
from unrolled.configuration.checks import check_parts, check_training
from unrolled.configuration.halving import can_be_halved, halvings
from unrolled.configuration.jobs import interrupted, this_job, value
from unrolled.configuration.process import is_child, rank_environment
from unrolled.configuration.ranges import check_options
from unrolled.configuration.sweep import in_sweep
from unrolled.configuration.values import CONFIG, resolved, to_yaml
from unrolled.errors import UserError
from unrolled.runs.lock import locked, locked_with_parent
from unrolled.runs.reproduction import compared
from unrolled.runs.results import read_results, show_results
from unrolled.runs.resume import begun, check_replaceable, last_checkpoint, mark_interrupted
from unrolled.training.cluster import check_nodes, check_started, is_first, started_from_outside
from unrolled.training.process_memory import OUT_OF_MEMORY, free_memory, is_out_of_memory
from unrolled.training.ranks import Killed, processes, run_ranks

log = logging.getLogger(__name__)

Train = Callable[..., dict[str, Any]]
"""(configuration, run folder, resume=...) -> the figures of results.json; called in the process that trains."""


class Ended(NamedTuple):
    """How the requested training ended."""

    config: DictConfig
    """The configuration of the run that was trained, wherever it came from."""
    results: dict[str, Any]
    """What results.json holds."""
    already: bool = False
    """Whether there was nothing left to train."""
    original: Path | None = None
    """The run that it repeats."""


def launch(train: Train, config: DictConfig) -> float | None:
    """`carry_out` for a command, which shows the figures of the run, and how it differs from its original.

    Returns the value for a sweeper. SystemExit: a single run that did not complete. KeyboardInterrupt: an interruption.
    """
    try:
        config, results, already, original = carry_out(train, config)
    except KeyboardInterrupt:  # before the first batch
        if in_sweep() and config.resume is None:
            interrupted(config)
        raise
    if is_first() and not is_child():
        show_results(results)
    if already:
        return value(config, results)
    if results["status"] == "interrupted":
        interrupted(config)
    if original is not None:
        show_results(compared(original, Path(config.run_folder)))
    if results["status"] != "completed" and not in_sweep():
        sys.exit(1)
    return value(config, results)


def carry_out(train: Train, config: DictConfig) -> Ended:
    """Call ``train`` for what ``config`` asks for: a new run, the rest of a run, a run again, a job of a sweep."""
    name_kind(config)
    config, resume, results, original = this_job(config)
    check_parts(config)
    check_options(config, "train")  # of the run that is resumed or reproduced
    folder = Path(config.run_folder)
    if results is not None:
        return Ended(config, results, already=True)
    with _lock_of(folder):  # refused while another process trains there
        if not (resume or in_sweep() or is_child()):
            check_replaceable(folder)
        results = _with_enough_memory(train, config, folder, resume=resume)
    return Ended(config, results, original=original)


def _lock_of(folder: Path) -> AbstractContextManager[None]:
    if not is_first():
        return nullcontext()
    return locked_with_parent(folder) if is_child() else locked(folder)


def _with_enough_memory(train: Train, config: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    """What ``train`` returns; whenever memory runs out it continues from its last checkpoint with half the budget.

    An update then takes twice as many batches, so that it has as many words. One of several processes leaves this to
    the process that started it. UserError: batches cannot be smaller.
    """
    for less in halvings(config):
        before = begun(folder)
        try:
            return _in_processes(train, less, folder, resume=resume)
        except Exception as problem:
            if not is_out_of_memory(problem):
                raise
            if started_from_outside():
                sys.exit(OUT_OF_MEMORY)
        free_memory()
        if can_be_halved(less):
            if begun(folder) != before:  # otherwise the folder still holds an earlier run
                resume = resume or last_checkpoint(folder) is not None
                (folder / "results.json").unlink(missing_ok=True)  # it says failed, but training continues
            log.warning("out of memory: training continues with data.max_tokens=%d", less.data.max_tokens // 2)
    sizes = "data.stream_rows or data.stream_steps" if config.data.get("stream") else "data.max_length"
    raise UserError(f"out of memory, and smaller batches do not help: give a smaller {sizes}, or a smaller model")


def _in_processes(train: Train, config: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    """What ``train`` returns, in this process or in several that this one starts and waits for."""
    if not is_child():
        check_nodes(config.trainer.get("num_nodes", 1))
        ranks = processes(**{name: config.trainer.get(name, "auto") for name in ("accelerator", "devices", "strategy")})
        check_started(ranks, config.trainer.get("num_nodes", 1))
        check_training(config, ranks)
        resolved(config)  # an error if an option is missing
        if ranks > 1 and not started_from_outside():
            with tempfile.TemporaryDirectory() as temporary:
                path = Path(temporary, CONFIG)
                path.write_text(to_yaml(config), encoding="utf-8")
                before = begun(folder)
                try:
                    run_ranks("unrolled.commands.train", rank_environment(path, resume=resume), ranks)
                except Killed:
                    if begun(folder) != before:
                        mark_interrupted(folder)
                    raise
            return read_results(folder)
    return train(config, folder, resume=resume)
