"""One run from the first batch to the results: fit, load the best checkpoint, test it once, save everything."""

import logging
import math
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Any

import lightning
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from unrolled.data.module import DataModule
from unrolled.errors import UserError, no_space
from unrolled.files import reading, write_lines
from unrolled.inference.precision import warn_if_emulated
from unrolled.models.fast import cuda_graphs
from unrolled.runs.results import read_results, write_results
from unrolled.runs.resume import kept_checkpoints, last_checkpoint
from unrolled.runs.weights import VOCABULARIES, checkpoint_weights, save_weights
from unrolled.training.callbacks.beginning import Beginning
from unrolled.training.callbacks.divergence import Diverged
from unrolled.training.callbacks.pruning import Pruned
from unrolled.training.callbacks.saving import ending_signal
from unrolled.training.callbacks.speed import Speed
from unrolled.training.callbacks.unigram_level import UnigramLevel
from unrolled.training.callbacks.validation_in_checkpoint import ValidationInCheckpoint
from unrolled.training.collector import wake
from unrolled.training.loggers.media import log_parameters
from unrolled.training.loggers.wandb import finish
from unrolled.training.objective import Objective
from unrolled.training.preemption import Preempted
from unrolled.training.process_memory import keep_freed_memory, peak_memory_mib
from unrolled.training.schedule import warms_up

log = logging.getLogger(__name__)
STILL_AT_UNIGRAM_LEVEL = (
    "this model has learnt no more than how often each word occurs (the unigram level, {val/unigram_loss:.3f} nats a "
    "token): try more updates (trainer.max_epochs), optimizer.lr twice as high or half as high, smaller batches "
    "(data.max_tokens), less dropout; docs/training.md"
)


def run(
    *,
    module: Objective,
    data: DataModule,
    trainer: lightning.Trainer,
    folder: Path,
    begin: Callable[[], None],
    facts: dict[str, Any],
    name: str = "",
    resume: bool = False,
) -> dict[str, Any]:
    """Train, test the best checkpoint, and fill the run folder. Returns the content of ``results.json``.

    ``begin``: called before the first batch; what ends before leaves the folder as it was, and is raised.
    ``resume``: start from the last checkpoint in the folder, if there is one.

    ``name``: of the run, for its figures. ``facts`` (model, attention, seed, ...) are copied to results.json.
    ``status`` is ``completed``, ``interrupted``, or, with the last finite validation figures, ``diverged`` or
    ``pruned`` (by a search); any other error is raised after results.json and the loggers have recorded that the run
    ``failed``. Preempted and a full disk are raised too, with ``interrupted``.
    """
    keep_freed_memory()
    if trainer.is_global_zero:
        warn_if_emulated(str(trainer.precision), trainer.strategy.root_device.type)
    if trainer.world_size > 1:  # the first process may have changed the folder before another looked
        trainer.strategy.setup_environment()
        resume = trainer.strategy.broadcast(resume)
        torch.manual_seed(torch.initial_seed() + trainer.global_rank)  # dropout of each process for itself
    results = dict(facts)
    start = _start(folder, module) if resume else None
    before = read_results(folder).get("steps") if resume and (folder / "results.json").is_file() else None
    outcome = None  # unknown if the process is killed
    beginning = Beginning(begin)
    trainer.callbacks.insert(0, beginning)  # type: ignore[attr-defined]
    try:
        log_parameters(trainer.loggers, _parameters(module))
        wake()
        data.trainer = trainer  # batches are those of this process
        _check_test(trainer, data)
        _fit_validations(trainer, data)
        with _told_of_options():
            trainer.fit(module, datamodule=data, ckpt_path=start, weights_only=True)
        beginning.pass_by(trainer)  # nothing was left to train
        if trainer.is_global_zero and trainer.global_step == before:
            ended = "early stopping" if _stopped_early(trainer) else "another limit of the trainer, such as max_epochs,"
            log.warning("nothing was left to train: %s had ended this run before", ended)
        _warn_of_updates_without_validation(trainer)
        _warn_of_warm_up(trainer)
        results |= _training_facts(module, trainer)
        results |= _test(module, data, trainer, folder)
        results |= _unigram_facts(trainer)  # the test validates a training that ended before its first validation
        results["parameters"] = _parameters(module)  # the best checkpoint may have fewer n-grams than the last
        log_parameters(trainer.loggers, results["parameters"])
        if trainer.is_global_zero and results.get("left_unigram_level") is False:
            log.warning("%s", STILL_AT_UNIGRAM_LEVEL.format(**results))
        outcome = "completed"
    except Diverged as problem:
        log.error("%s", problem)
        results |= _training_facts(module, trainer) | _last_figures(trainer)
        outcome = "diverged"
    except Pruned as end:
        log.info("%s", end)
        results |= _training_facts(module, trainer) | _last_figures(trainer)
        outcome = "pruned"
    except (KeyboardInterrupt, SystemExit) as end:
        # Lightning has already shut down properly, and ends with SystemExit
        results |= _training_facts(module, trainer)
        outcome = "interrupted"
        if isinstance(end, Preempted):
            raise
        if not beginning.passed:
            raise KeyboardInterrupt from end
    except Exception as problem:
        ended_by = ending_signal(trainer.callbacks)  # type: ignore[attr-defined]
        if ended_by is None and no_space(problem):  # a sweep resumes it, from its last whole checkpoint
            results |= _training_facts(module, trainer)
            outcome = "interrupted"
            raise
        if ended_by is None:
            outcome = "failed"
            raise
        results |= _training_facts(module, trainer)
        outcome = "interrupted"
        if ended_by == signal.SIGUSR2:
            raise Preempted(128 + ended_by) from problem
    finally:
        cuda_graphs.forget()  # the next model of this process, in a sweep, has others
        results["status"] = outcome
        if trainer.is_global_zero and outcome is not None and beginning.passed:
            if outcome != "failed":
                for logger in trainer.loggers:
                    logger.save()
                from unrolled.figures.curves import save_curves  # and matplotlib, which training can start without

                save_curves(folder, name)
            # the very last file: a run that says how it ended is complete
            results["peak_memory_mib"] = round(peak_memory_mib(), 1)
            write_results(folder, results)
        finish(trainer.loggers, failed=outcome != "completed")
    return results


@contextmanager
def _told_of_options() -> Iterator[None]:
    """UserError: options that Lightning refuses once it knows how many batches there are, before the first."""
    try:
        yield
    except (MisconfigurationException, ValueError) as problem:
        frames = [frame for frame, _ in walk_tb(problem.__traceback__)]
        theirs = str(frames[-1].f_globals.get("__name__")).startswith("lightning.")
        if not theirs or all(frame.f_code.co_name != "setup_data" for frame in frames):
            raise
        if long := re.search(r"`val_check_interval` \((\d+)\).*batches \((\d+)\)", " ".join(str(problem).split())):
            raise UserError(
                f"trainer.val_check_interval={long[1]}: an epoch has only {long[2]} batches; give fewer, or "
                "trainer.check_val_every_n_epoch=null, which counts batches across epochs"
            ) from problem
        raise UserError(f"trainer: Lightning says: {' '.join(str(problem).split())}") from problem


def _fit_validations(trainer: lightning.Trainer, data: DataModule) -> None:
    """Validate once an epoch where that has fewer batches than lie between validations, as after lack of memory."""
    every = trainer.val_check_interval
    halved = trainer.accumulate_grad_batches > 1 and trainer.check_val_every_n_epoch is not None
    if halved and isinstance(every, int) and every > (batches := len(data.train_dataloader())):
        trainer.val_check_interval = batches
        if trainer.is_global_zero and every > 2 * batches:
            log.warning(
                "trainer.val_check_interval=%d: an epoch has only %d batches: it is validated at its end",
                every,
                batches,
            )


def _warn_of_updates_without_validation(trainer: lightning.Trainer) -> None:
    """The best weights are those of a validation: what came after the last one is lost."""
    validated = [it.validated for it in trainer.callbacks if isinstance(it, ValidationInCheckpoint)]  # type: ignore[attr-defined]
    later = trainer.global_step - max(validated, default=0)
    checkpoint: Any = trainer.checkpoint_callback
    if trainer.is_global_zero and later and checkpoint.best_model_path:
        log.warning(
            "the last %d of %d updates came after the last validation, and no result includes them: train whole epochs "
            "(trainer.max_epochs), or validate more often (trainer.val_check_interval)",
            later,
            trainer.global_step,
        )


def _warn_of_warm_up(trainer: lightning.Trainer) -> None:
    """A training may end before its learning rate is what the user asked for."""
    schedulers = [config.scheduler for config in trainer.lr_scheduler_configs]
    if trainer.is_global_zero and any(warms_up(scheduler, trainer.global_step) for scheduler in schedulers):
        log.warning(
            "training ended after %d updates, while the learning rate still rose to optimizer.lr: shorten the warm-up "
            "(schedule.steps or schedule.warm_up), or train longer (trainer.max_epochs)",
            trainer.global_step,
        )


def _stopped_early(trainer: lightning.Trainer) -> bool:
    stopping = [callback for callback in trainer.callbacks if isinstance(callback, EarlyStopping)]  # type: ignore[attr-defined]
    return any(callback.wait_count >= callback.patience for callback in stopping)


def _check_test(trainer: lightning.Trainer, data: DataModule) -> None:
    """UserError, before training: a test set that cannot be divided, or a share of it that is no batch."""
    batches, share = len(data.test_dataloader()), trainer.limit_test_batches
    if isinstance(share, float) and share < 1 and int(share * batches) < 1:
        raise UserError(
            f"trainer.limit_test_batches={share}: the test set has only {batches} batches, and this share of them is "
            "less than one; give a whole number of batches, or 1.0 for all"
        )


def _start(folder: Path, module: Objective) -> Path | None:
    """Where training resumes. UserError: a damaged checkpoint, or one of another model."""
    last = last_checkpoint(folder)
    if last is None:
        log.info("%s has no checkpoint yet: training starts from the beginning", folder)
        return None
    with reading(last):
        state = torch.load(last, map_location="cpu", weights_only=True)
        shapes = {name: weight.shape for name, weight in state["state_dict"].items()}
        trained = {name: weight.shape for name, weight in module.named_parameters() if weight.requires_grad}
        if shapes.keys() != module.state_dict().keys() or any(shapes[name] != trained[name] for name in trained):
            raise ValueError("it is of another model")
        kept = kept_checkpoints(state["callbacks"], folder)
    for path in kept:
        checkpoint_weights(path)
    return last


def _parameters(module: Objective) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _training_facts(module: Objective, trainer: lightning.Trainer) -> dict[str, Any]:
    (speed,) = [callback for callback in trainer.callbacks if isinstance(callback, Speed)]  # type: ignore[attr-defined]
    return {
        "parameters": _parameters(module),  # known only after counting n-grams
        "steps": trainer.global_step,
        "epochs": trainer.current_epoch,
        "train/target_tokens_per_second": speed.tokens_per_second(module, trainer.world_size),
        "train/seconds": speed.seconds,
        "train/cpu_seconds": speed.cpu_seconds if trainer.strategy.root_device.type == "cpu" else None,
        **_unigram_facts(trainer),
    }


def _unigram_facts(trainer: lightning.Trainer) -> dict[str, Any]:
    levels = [callback.facts() for callback in trainer.callbacks if isinstance(callback, UnigramLevel)]  # type: ignore[attr-defined]
    return levels[0] if levels else {}


def _last_figures(trainer: lightning.Trainer) -> dict[str, float]:
    figures = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("val/")}
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def _test(module: Objective, data: DataModule, trainer: lightning.Trainer, folder: Path) -> dict[str, Any]:
    checkpoint: Any = trainer.checkpoint_callback
    assert isinstance(checkpoint, ModelCheckpoint)
    if not checkpoint.best_model_path:
        # training ended before its first validation
        trainer.validate(module, datamodule=data, verbose=False)
        checkpoint.best_model_path = str(folder / "checkpoints" / "best.ckpt")
        trainer.save_checkpoint(checkpoint.best_model_path)
    with reading(Path(checkpoint.best_model_path)):
        best = torch.load(checkpoint.best_model_path, map_location="cpu", weights_only=True)
    module.load_state_dict(best["state_dict"])
    if trainer.is_global_zero:
        vocabularies = {name: value for name, value in data.fingerprint().items() if name in VOCABULARIES}
        save_weights(module.model, folder / "weights.safetensors", vocabularies)
    figures = dict(best["metrics"])
    (tested,) = trainer.test(module, datamodule=data, verbose=False)
    figures |= {name: float(value) for name, value in tested.items()}
    figures |= {f"{name}_signature": signature for name, signature in module.signatures.items()}
    if trainer.is_global_zero and "test" in module.hypotheses:
        write_lines(folder / "translations" / "val.txt", best["translations"])
        write_lines(folder / "translations" / "test.txt", module.hypotheses["test"])
    return figures
