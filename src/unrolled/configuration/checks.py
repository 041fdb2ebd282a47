"""Checks of a configuration before anything is built."""

import os
import re
from collections.abc import Collection
from copy import deepcopy
from importlib.util import find_spec
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict

from unrolled.configuration.conf import CONF, warn_of_same_names
from unrolled.configuration.elsewhere import is_offered
from unrolled.configuration.hints import SEVERAL, no_such_choice, no_such_option
from unrolled.configuration.values import GROUPS
from unrolled.errors import UserError, shown

FUNCTIONS = ("model", "attention", "objective", "optimizer", "schedule")
"""Parts that are called with more options than their configurations have."""
NEEDED = ("speed", "validation_in_checkpoint", "checkpoint")
"""Callbacks that results.json is made from."""
OF_GRADIENTS = ("largest_batch.LargestBatchFirst", "learning_rate.LearningRate")
"""Callbacks that need an optimiser."""
UNFIT = {
    "BackboneFinetuning": "no model here has a backbone",
    "BatchSizeFinder": "data.max_tokens limits a batch, and is halved where memory runs out",
    "LearningRateFinder": "compare learning rates in a sweep: -m optimizer.lr=1e-3,2e-3,4e-3",
}
"""Lightning's callbacks that need attributes which no objective here has, and what does their work."""
LOGGERS = {"tensorboard": ("tensorboard", "tensorboardX"), "mlflow": ("mlflow",)}
"""Loggers that need one of these packages, which are installed on demand."""
PLACES = {
    "callbacks.checkpoint.dirpath": "checkpoints",
    "callbacks.kept.folder": "checkpoints/kept",
    "callbacks.saving.path": "checkpoints/last.ckpt",
}
"""Where in the run folder other commands, and a resumed training, look for what callbacks write."""
ABSENT = object()
WEIGHT = "search.language_model_weight"
HALF_WEIGHTS = {"bf16-true": "bf16-mixed", "16-true": "16-mixed"}


def check_choices(config: DictConfig) -> None:
    """UserError: an option that nothing reads, perhaps added by ``+name=``; a value in place of a group's choice."""
    hydra = HydraConfig.get()
    for override in reversed(hydra.overrides.task):  # the last of a group counts
        name = override.partition("=")[0]
        if (group := name.lstrip("~")) in GROUPS and group not in config:  # ~group, or group=[]
            nothing = "csv" if group == "logger" else "none"
            if not name.startswith("~") and not override.endswith("=[]"):
                raise UserError(f"{override}: its options are not in {group}: remove '# @package' from its file")
            there = (CONF / group / f"{nothing}.yaml").is_file()
            raise UserError(f"{override}: {f'choose {group}={nothing} instead' if there else 'keep it: it is needed'}")
        if name.startswith("+"):
            _check_added(name.lstrip("+"), override, config)
        if name == WEIGHT and OmegaConf.select(config, "search.language_model") is None:
            raise UserError(f"{override}: nothing uses this weight: give search.language_model=RUN too, or omit it")
    for override in hydra.overrides.task:
        group, _, value = override.lstrip("+").partition("=")
        if value.startswith("[") and (CONF / group).is_dir() and group not in SEVERAL:
            raise UserError(f"{override}: choose one: {group}={value[1:].partition(',')[0].strip(' ]') or '...'}")
    for group in FUNCTIONS:
        choice = hydra.runtime.choices.get(group)
        if choice not in (None, "none") and config.get(group) == {}:
            raise UserError(f"{group}={choice}: this choice has no options: is its file empty, or of another package?")
    warn_of_same_names(hydra.runtime.choices)
    for group, choice in hydra.runtime.choices.items():
        path = str(group).replace("/", ".")
        value = OmegaConf.select(config, path, default=ABSENT)
        if value is None and "." in path and choice is not None:
            none = "none" if (CONF / group / "none.yaml").is_file() else "..."
            raise UserError(f"{path}=null: choose with {group}={none}")
        if isinstance(value, str | int | float) and value is not ABSENT:
            raise UserError(f"{path}={value}: choose with {group}=...")


def _check_added(name: str, override: str, config: DictConfig) -> None:
    """UserError if ``+`` added a choice or an option that nothing reads."""
    hydra = HydraConfig.get()
    group, _, option = name.partition(".")
    if name in hydra.runtime.choices:
        if "/" not in name and hydra.job.config_name != "train":  # those of others are given without +
            raise UserError(no_such_choice(override, name))
        return
    if not option:
        known = DictConfig({key: value for key, value in config.items_ex(resolve=False) if key != name})
        raise UserError("+" + no_such_option(name, known))
    # data.X may be what another choice of data has, or what something refers to
    if group != "data" or not option.isidentifier() or is_offered(group, option):
        return
    if re.search(rf"\bdata\.{option}\b|\{{\.+{option}\b", str(OmegaConf.to_container(config, resolve=False))):
        return
    known = deepcopy(config)
    with open_dict(known):
        del known.data[option]
    raise UserError("+" + no_such_option(name, known.data))


def check_unused(options: Collection[str], why: str) -> None:
    """UserError if the command line gives one of ``options``, which nothing would read, and ``why``."""
    for override in HydraConfig.get().overrides.task:
        if override.lstrip("+").partition("=")[0] in options:
            raise UserError(f"{override}: {why}; omit it")


def check_parts(config: DictConfig) -> None:
    """UserError for an invalid callback in ``config``, or for a missing one that every training needs."""
    groups = ("trainer", "data", "model", "attention", "objective", "callbacks", "choices")
    for group in (*groups, "data.module", "data.corpus"):
        node = OmegaConf.select(config, group, default=ABSENT)
        if node is not ABSENT and not isinstance(node, DictConfig):
            raise UserError(f"{group}={shown(node)}: set its options one by one, such as trainer.max_epochs=3")
    for group in FUNCTIONS:
        _check_function(group, config.get(group))
    for group in ("callbacks", "logger"):
        for name, node in (config.get(group) or {}).items():
            if not (isinstance(node, DictConfig) and "_target_" in node):
                instead = f"omit it with ~{group}.{name}" if node is None else "give its class, _target_"
                raise UserError(f"{group}.{name}={shown(node)}: {instead}")
            library, _, kind = str(node._target_).rpartition(".")
            if kind in UNFIT and library.startswith("lightning."):
                raise UserError(f"{group}.{name}: {kind} cannot be used here: {UNFIT[kind]}")
            if library.startswith("unrolled.training.loggers."):
                _check_installed(library.rpartition(".")[2])
    for name in NEEDED:
        if name not in config.callbacks:
            raise UserError(f"~callbacks.{name}: every training needs this callback")
    for name, place in PLACES.items():
        path = OmegaConf.select(config, name, default=ABSENT)
        if path is not ABSENT and os.path.abspath(str(path)) != os.path.abspath(f"{config.run_folder}/{place}"):
            raise UserError(
                f"{name}={shown(path)}: every command looks for a run's checkpoints in {config.run_folder}/{place}; to "
                "have them elsewhere, give another folder to the whole run, hydra.run.dir=DIR"
            )
    typed = [str(word) for word in config.get("overrides") or []]
    if "_target_" not in (config.get("alignment") or {}) and "alignment=none" not in typed:
        for word in typed:
            if word.startswith(("alignment.source=", "alignment.share=")):
                raise UserError(f"{word}: nothing uses links: add alignment=guide or alignment=replace")
    if "stream" in config.data and not config.data.stream:
        for word in typed:
            if word.startswith(("data.stream_rows=", "data.stream_steps=")):
                raise UserError(f"{word}: lines are read one by one: add data.stream=true, or omit it")
    source = (config.get("alignment") or {}).get("source")
    if source in ("auto", "auto_pieces"):
        for word in typed:
            if word.startswith("data.train_alignment=") and word != "data.train_alignment=null":
                raise UserError(f"{word}: alignment.source={source} finds the links itself: omit one of the two")


def _check_installed(logger: str) -> None:
    """UserError if the package that a logger needs is missing; else text would be prepared before that is known."""
    if logger in LOGGERS and not any(map(find_spec, LOGGERS[logger])):
        raise UserError(f'logger={logger} is not installed: pip install "unrolled[{logger}]"')


def _check_function(name: str, node: Any) -> None:
    """UserError if a part that is called later, with more options, is something else."""
    if isinstance(node, DictConfig) and len(node):
        if "_target_" not in node:
            raise UserError(f"{name}: its configuration must name a class or function: add the line _target_: ...")
        if not node.get("_partial_"):
            raise UserError(f"{name}: its configuration must contain the line _partial_: true")


def check_training(config: DictConfig, processes: int) -> None:
    """UserError if the objective of ``config`` does not fit the way it should be trained."""
    name, precision = config.choices.model, config.trainer.precision
    optimized = {group: bool(config[group]) for group in ("optimizer", "schedule")}
    if config.objective.kind != "counting":
        if not all(optimized.values()):
            raise UserError(
                f"model={name} is trained by gradients: optimizer=none and schedule=none are only for models that count"
            )
        if precision in HALF_WEIGHTS:
            raise UserError(f"trainer.precision={precision}: weights stay in float32; use {HALF_WEIGHTS[precision]}")
        if "steps" in config.schedule and config.schedule.steps is None and _endless(config.trainer):
            raise UserError(
                "the learning rate falls until the end of training, and nothing says when that is: give "
                "schedule.steps=..."
            )
        steps, warm_up = config.schedule.get("steps"), config.schedule.get("warm_up", 0)
        if steps is not None and warm_up >= steps:
            raise UserError(f"schedule.warm_up={warm_up} must be less than schedule.steps={steps}")
        return
    for group, chosen in optimized.items():
        if chosen:
            raise UserError(f"model={name} is trained by counting, with nothing to optimise: omit {group}=...")
    if config.trainer.gradient_clip_val is not None or config.trainer.accumulate_grad_batches != 1:
        raise UserError(
            f"model={name} is trained by counting and has no gradients: omit trainer.gradient_clip_val and "
            "trainer.accumulate_grad_batches"
        )
    for callback, node in config.callbacks.items():
        if node and str(node.get("_target_")).endswith(OF_GRADIENTS):
            raise UserError(
                f"model={name} is trained by counting, and callbacks.{callback} needs an optimizer: omit callbacks=..."
            )
    if processes > 1:
        raise UserError(f"model={name} is counted by one process, not {processes}: use hardware=cpu")


def _endless(trainer: DictConfig) -> bool:
    """Whether neither epochs nor updates limit a training."""
    by_time = trainer.max_epochs is None and trainer.max_time is not None
    return trainer.max_steps == -1 and (trainer.max_epochs == -1 or by_time)
