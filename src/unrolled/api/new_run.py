"""Training from Python: a new run, the rest of one, or one again."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from unrolled.api.given_text import Text, write_text_of
from unrolled.api.loading import load
from unrolled.api.trained_run import TrainedRun, folder_of, trust_of
from unrolled.api.training_job import train_in
from unrolled.api.undisturbed import undisturbed
from unrolled.configuration.composition import check_texts, composing, one_at_a_time, one_line, options_of
from unrolled.configuration.launch import carry_out
from unrolled.configuration.slots import packages_of, trusted, trusting
from unrolled.configuration.values import resolved
from unrolled.data.corpus import SPLITS
from unrolled.errors import UserError
from unrolled.files import path_of, remove_if_empty
from unrolled.runs.reproduction import compared
from unrolled.training.preemption import Preempted

log = logging.getLogger(__name__)
Run = str | PathLike[str] | TrainedRun


def train(
    *options: str,
    data: str | Text | Mapping[str, Text] | None = None,
    folder: str | PathLike[str] | None = None,
    resume: Run | None = None,
    reproduce: Run | None = None,
    progress: bool = True,
    trust: str | list[str] | None = None,
    **more: Any,
) -> TrainedRun:
    """Train, validate and test a model as train.py does; returns the run, whatever its status.

    options: as on the command line, "model=cgru", "optimizer.lr=1e-3"; ``more``: the same as keywords, seed=3, or
    **{"optimizer.lr": 1e-3}. data: the name of a choice, or text of yours, see docs/python.md: a list of (source,
    target) pairs, or of sentences for a language model, of which validation and test are split off; or a dictionary
    with lists for "train", "val" and "test". folder: the run folder, outputs/<what>/<when> if None. resume: a run to
    continue; "trainer.max_epochs=20" trains it longer. reproduce: a run to train again. progress: lines on standard
    error, or a bar on a terminal. trust: a package of yours, or several, whose classes a run to continue or to train
    again may name. UserError: a mistake in any of these. KeyboardInterrupt: the run is saved, and resume continues it.
    """
    check_texts(options)
    given = [*options, *options_of(more)]
    for name, value in (("resume", resume), ("reproduce", reproduce)):
        if value is not None:
            given += options_of({name: folder_of(value)})
    trust = trust_of([resume, reproduce], trust)
    if folder is not None:
        _check_without_folder(given)
        given += options_of({"hydra.run.dir": path_of("folder", folder)})
    if isinstance(data, str):
        given.append(f"data={data}")
    elif data is not None:
        _check_without_data(given, resume or reproduce)
        given += write_text_of(data, options, more.get("cache"))
    with one_at_a_time, undisturbed(progress), trusting(trust), composing("train", given) as config, one_line():
        try:
            ended = carry_out(partial(train_in, progress=progress), config)
        except Preempted:
            raise
        except UserError:
            remove_if_empty(Path(config.run_folder))  # which was made for its lock
            raise
        except SystemExit as problem:  # one of several processes has failed, and said why on standard error
            raise RuntimeError("training failed in one of several processes; its message is above") from problem
        run_folder = str(ended.config.run_folder)
        if ended.results["status"] == "interrupted":
            raise KeyboardInterrupt(f"continue with unrolled.train(resume={run_folder!r})")
        if ended.original is not None:
            for name, what in compared(ended.original, Path(run_folder)).items():
                log.info("%s: %s", name, what)
        named = sorted({*trusted(), *packages_of(resolved(ended.config))})  # which the options, or this run, have named
    return load(run_folder, trust=named or None)


def _check_without_folder(options: Sequence[str]) -> None:
    for option in options:
        if option.startswith("hydra.run.dir="):
            raise UserError(f"{option} and folder=...: give one of them")


def _check_without_data(options: Sequence[str], earlier: Run | None) -> None:
    if earlier is not None:
        raise UserError("data=...: a resumed or reproduced run uses its own data; omit data")
    for option in options:
        if option.startswith(("data=", *(f"data.{split}=" for split in SPLITS))):
            raise UserError(f"{option} and data=...: give one of them")
