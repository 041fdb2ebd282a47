"""From a configuration to objects: data, model, module, trainer, search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import isclass, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf, open_dict

from unrolled.configuration.mistakes import missing_package
from unrolled.configuration.moved import KINDS, PACKAGE
from unrolled.configuration.slots import SLOTS, instantiate, named
from unrolled.configuration.values import CONFIG, read_config, resolved
from unrolled.errors import UserError, called
from unrolled.files import reading
from unrolled.text.sides import SIDES, PerSide

if TYPE_CHECKING:  # torch and Lightning take seconds: commands that only read text start without them
    import lightning
    from lightning.pytorch.loggers import Logger
    from torch import nn

    from unrolled.conformance.subject import Subject
    from unrolled.data.corpus import CorpusText
    from unrolled.data.module import DataModule
    from unrolled.inference.columns import Column, Detail
    from unrolled.search.shortlist import Shortlist
    from unrolled.text.tokenizer import Tokenizer, TokenizerChoice
    from unrolled.training.objective import Objective

SCALED = ("16-mixed", "16")
"""Mixed precision in float16, whose loss is scaled, as Lightning lets it be written."""

VOCABULARY = 8000
"""Words of a vocabulary that is not known yet: any number that a model could have."""

OURS = ("unrolled.", "lightning.")
"""What the names of the callbacks in conf/ begin with."""


def local_cache() -> str:
    """The cache of whoever looks at a run, not the one that its configuration names."""
    return os.path.abspath(os.environ.get("UNROLLED_CACHE", "outputs/cache"))


def text_of(run: str) -> CorpusText:
    """The text of the run folder ``run``, without tokenizers and batches. UserError: no sound configuration."""
    from unrolled.data.corpus import CorpusText

    config = read_config(run)
    with reading(Path(run) / CONFIG):
        return CorpusText(instantiate(config.data.corpus), Path(local_cache()))


def build_data(config: DictConfig) -> DataModule:
    """The data module of ``config``."""
    if "tokenizer" not in config.data.module:
        return instantiate(config.data.module)
    tokenizer = build_tokenizer(config.data.module.tokenizer)
    others = config.data.module.copy()  # still in its place, which messages name
    with open_dict(others):
        del others["tokenizer"]
    return instantiate(others, _partial_=True)(tokenizer=tokenizer)


def build_tokenizer(node: Mapping[str, Any]) -> TokenizerChoice | PerSide:
    """The choice of a tokenizer, or of one for each side: ``source`` and ``target`` within ``node`` are of one side."""
    sides = {side: instantiate(node[side]) for side in SIDES if side in node}
    if len(sides) == len(SIDES):
        return PerSide(**sides)
    if not sides:
        return instantiate(node)
    choice = instantiate({name: value for name, value in node.items() if name not in SIDES})
    return PerSide(**({"source": choice, "target": choice} | sides))


def build_model(config: DictConfig, *, source_vocabulary: int | None, target_vocabulary: int) -> nn.Module:
    """The model of ``config``; UserError if model, attention and data do not fit together."""
    attention = _without_sizes(config, "attention")
    return _without_sizes(config, "model")(
        source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, attention=attention
    )


def build_subject(config: DictConfig) -> Subject:
    """The model and the attention of ``config``, for `conformance`."""
    from unrolled.conformance.subject import Subject

    return Subject(_without_sizes(config, "model"), _without_sizes(config, "attention"))


def _without_sizes(config: DictConfig, name: str) -> Any:
    """The model or attention of ``config``, without the sizes that only data and model know; None for none."""
    node = config[name]
    if "_target_" in node and not node.get("_partial_"):
        raise UserError(f"{name}: its configuration must contain the line _partial_: true")
    made = instantiate(node) or None
    for path in (name, *(f"{name}.{key}" for key in node)):
        _check_base(path, OmegaConf.select(config, path))
    return made


def _check_base(path: str, node: Any) -> None:
    """UserError: a class that is no subclass of what its place in the configuration needs."""
    slot = SLOTS.get(path)
    if slot is None or slot.base is None or not isinstance(node, DictConfig) or "_target_" not in node:
        return
    cls = named(node._target_)
    if isclass(cls) and not issubclass(cls, named(slot.base)):
        raise UserError(f"{path}: {node._target_} is not a subclass of {slot.base}, as {slot.name} must be")


def build_detail(config: DictConfig, columns: Sequence[Column]) -> Detail:
    """How score.py shows ``columns``, ranked or in the given order. UserError: options that exclude each other."""
    from unrolled.inference.ranking import in_order

    detail: Detail = instantiate(config.detail)(columns=columns)
    return in_order(config.rank, detail, columns=len(columns), context=config.context)


def check_model(config: DictConfig, *, parallel: bool) -> None:
    """UserError: what `build_module` would say of the model, attention and objective for text of one or two sides.

    The model is built with some vocabulary and dropped; random numbers continue as if it had not been.
    """
    import torch

    from unrolled.models.translator import Translator
    from unrolled.training.alignment_loss import check_supervision

    with torch.random.fork_rng(devices=()):
        model = build_model(config, source_vocabulary=VOCABULARY if parallel else None, target_vocabulary=VOCABULARY)
    _check_objective(config, model)
    if isinstance(model, Translator):
        check_supervision(model, _supervision(config), config.objective.get("doubly_stochastic", 0.0))


def build_module(config: DictConfig, data: DataModule) -> Objective:
    """The LightningModule of ``config``, for data that is set up."""
    source = data.source_tokenizer
    model = build_model(
        config, source_vocabulary=None if source is None else source.size, target_vocabulary=data.target_tokenizer.size
    )
    kind = _check_objective(config, model)
    supervision = _supervision(config)
    objective = instantiate({name: value for name, value in config.objective.items() if name != "kind"})
    if kind == "counting":
        return objective(model=model)
    shared = {"model": model, "optimizer": _optimizer(config), "schedule": instantiate(config.schedule)}
    if kind == "language_modeling":
        return objective(**shared)
    return objective(
        **shared,
        decode=data.target_tokenizer.decode,
        references={split: data.text.references(split) for split in ("val", "test")},
        words={split: data.words_of_pieces(split) for split in ("val", "test")},
        gold={split: data.text.gold(split) for split in ("val", "test")},
        supervision=supervision,
        bleu_tokenize=config.data.bleu_tokenize,
        bleu_lowercase=config.data.bleu_lowercase,
        symbols=config.data.get("symbols"),
        validation_search=_validation_search(config, data.target_tokenizer),
        test_search=build_search(config, data.target_tokenizer),
    )


def _supervision(config: DictConfig) -> Any:
    """How the attention is taught; None with alignment=none."""
    return instantiate(config.alignment) if "_target_" in config.alignment else None


def check_monitors(config: DictConfig, module: Objective) -> None:
    """UserError for a callback that waits for a figure of validations which ``module`` does not have.

    A callback of somebody else's may log figures of its own.
    """
    from unrolled.training.merit import MERIT

    callbacks = dict(config.callbacks.items())
    if not all(str(node._target_).startswith(OURS) for node in callbacks.values()):
        return
    for name, node in callbacks.items():
        if "monitor" in node:
            module.check_figure(f"callbacks.{name}.monitor", node.monitor, MERIT)


def name_kind(config: DictConfig) -> None:
    """Fill in ``objective.kind`` for a custom class, from its base class. UserError: a class with another base.

    The saved configuration then says it, and commands that read it need not import the class.
    """
    objective = config.get("objective")
    if not isinstance(objective, DictConfig) or "kind" in objective or "_target_" not in objective:
        return
    cls = named(objective._target_)
    names = [f"{base.__module__}.{base.__qualname__}" for base in getattr(cls, "__mro__", [])]
    kind = next((KINDS[name] for base in names if (name := base.removeprefix(PACKAGE)) in KINDS), None)
    if kind is None:
        raise UserError(
            f"objective: {objective._target_} is not a subclass of Translation, LanguageModeling or Counting: make it "
            f"one, or say which of {', '.join(KINDS.values())} it trains by objective.kind"
        )
    with open_dict(objective):
        objective.kind = kind


def _check_objective(config: DictConfig, model: nn.Module) -> str:
    """The kind of the objective, which trains ``model``. UserError: it does not, or there is nothing to align."""
    kind = _trained_by(model)
    if config.objective.kind != kind:
        raise UserError(f"model={config.choices.model} can only be trained by objective={kind}")
    if "_target_" in config.alignment and kind != "translation":
        raise UserError(
            f"model={config.choices.model} has no attention to align: omit alignment=..., or use model=cgru"
        )
    cannot_cover = kind == "translation" and model.attention is None
    for search in ("search", "validation_search"):
        if cannot_cover and OmegaConf.select(config, f"{search}.coverage_penalty"):
            raise UserError(
                f"{search}.coverage_penalty: model={config.choices.model} has no attention that could cover a source: "
                "omit it"
            )
    return kind


def _trained_by(model: nn.Module) -> str:
    """The kind of the objective that trains ``model``."""
    from unrolled.models.language_model import NeuralLanguageModel
    from unrolled.models.translator import Translator

    if isinstance(model, Translator):
        return "translation"
    return "language_modeling" if isinstance(model, NeuralLanguageModel) else "counting"


def _optimizer(config: DictConfig) -> Any:
    # a fused optimiser divides gradients by the loss's scale itself, and so after they are clipped: too late
    scaled = str(config.trainer.get("precision")) in SCALED and "fused" in config.optimizer
    optimizer = instantiate(config.optimizer, **({"fused": False} if scaled else {}))
    if config.optimizer._target_.startswith("torch."):
        from torch import nn, zeros

        try:
            optimizer([nn.Parameter(zeros(1))])
        except (ValueError, RuntimeError) as problem:  # options that exclude each other
            raise UserError(
                f"optimizer: {config.optimizer._target_} says: {' '.join(str(problem).split())}"
            ) from problem
    return optimizer


def build_trainer(config: DictConfig, *, resume: bool = False, progress: bool = True) -> lightning.Trainer:
    """Lightning's Trainer with the callbacks and loggers of ``config``; ``resume``: continue the loggers' run.

    progress: with the callback ``progress``, if ``config`` has it.
    """
    import torch
    from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
    from lightning.fabric.utilities.exceptions import MisconfigurationException
    from lightning.pytorch.callbacks import ProgressBar

    from unrolled.configuration.trial import this_trial
    from unrolled.training.callbacks.pruning import EndPoorTrial
    from unrolled.training.checkpoints import WholeCheckpoints
    from unrolled.training.cluster import cluster_environment
    from unrolled.training.loggers.csv import Curves

    folder = Path(config.run_folder)
    callbacks = [_callback(name, node) for name, node in config.callbacks.items() if progress or name != "progress"]
    trial = this_trial()
    if trial is not None:
        callbacks.append(EndPoorTrial(report=trial.report, mode=config.objective.mode))
    partial = instantiate(config.trainer)
    plugins = [*(partial.keywords.get("plugins") or []), WholeCheckpoints()]
    if not any(isinstance(plugin, ClusterEnvironment) for plugin in plugins):
        plugins.append(cluster_environment())
    accelerator = config.trainer.get("accelerator", "auto")
    if accelerator == "auto":  # Lightning's own choice would be a Mac's GPU (MPS), for which nothing here is tested
        accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        trainer: lightning.Trainer = partial(
            accelerator=accelerator,
            callbacks=callbacks,
            enable_progress_bar=any(isinstance(callback, ProgressBar) for callback in callbacks),
            logger=False,
            plugins=plugins,
            default_root_dir=str(folder),
        )
    except (MisconfigurationException, ValueError, TypeError, ModuleNotFoundError) as problem:
        raise UserError(f"hardware or trainer: Lightning says: {' '.join(str(problem).split())}") from problem
    # now that nothing is refused, for they begin to write
    trainer.loggers = [Curves(str(folder)), *build_loggers(config, resume=resume)]
    return trainer


def _callback(name: Any, node: DictConfig) -> Any:
    """The callback ``name`` of a configuration. UserError: an option that Lightning refuses, or no callback."""
    from lightning.pytorch.callbacks import Callback

    try:
        callback = instantiate(node)
    except InstantiationException as problem:
        kind = type(problem.__cause__).__name__
        if kind not in ("MisconfigurationException", "ValueError") or not node._target_.startswith("lightning."):
            raise
        said = " ".join(str(problem.__cause__).split())
        raise UserError(f"callbacks.{name}: Lightning says: {said}") from problem
    if not isinstance(callback, Callback):
        raise UserError(f"callbacks.{name}: {node._target_} is not a Lightning callback")
    return callback


def build_loggers(config: DictConfig, *, resume: bool) -> list[Logger]:
    """The loggers of ``config``, which have logged it; ``resume``: those that can continue an earlier run's.

    A node is a Lightning logger, or with ``_partial_: true`` a function of ``resume`` that returns one.
    UserError: anything else, or a logger whose package is not installed.
    """
    from lightning.pytorch.loggers import Logger

    loggers = []
    for name, node in (config.logger or {}).items():
        try:
            made = instantiate(node)
            logger = made(resume=resume) if callable(made) and not isinstance(made, Logger) else made
        except (InstantiationException, ImportError) as problem:
            if (package := missing_package(problem)) is None:
                raise
            raise UserError(f"logger.{name} needs a package that is not installed: pip install {package}") from problem
        if not isinstance(logger, Logger):
            raise UserError(f"logger.{name}: {node._target_} is not a Lightning logger")
        logger.log_hyperparams(resolved(config))
        loggers.append(logger)
    return loggers


def _validation_search(config: DictConfig, vocabulary: Tokenizer) -> Any:
    """The search of validations; greedy for a run from before there was a choice."""
    from unrolled.search.settings import Greedy

    return build_search(config, vocabulary, "validation_search") if "validation_search" in config else Greedy()


def build_search(
    config: DictConfig, vocabulary: Tokenizer, which: str = "search", shortlist: Shortlist | None = None
) -> Any:
    """The search of ``config`` for targets of ``vocabulary``; UserError: a language model with another vocabulary.

    ``shortlist``: what its configuration describes, for a trained run.
    """
    node = config[which]
    options: dict[str, Any] = {}
    if "shortlist" in node:
        if "shortlist" not in signature(named(node._target_)).parameters:
            raise UserError(f"{which}/shortlist: {which}={node._target_.rpartition('.')[2]} does not take one: omit it")
        if has_shortlist(node) and shortlist is None:
            raise UserError(
                f"{which}/shortlist is for trained runs: omit it, or give it to {called('translate')} or "
                f"{called('evaluate')}"
            )
        options["shortlist"] = shortlist
    run = node.get("language_model")
    if run is not None:
        from unrolled.configuration.load import load_language_model_of  # which builds models itself

        options["language_model"], tokenizer = load_language_model_of(run)
        if tokenizer.sha256 != vocabulary.sha256:
            raise UserError(
                f"search.language_model={run} has another vocabulary than the translations: train it on the same data "
                f"with the same tokenizer=..., or let it rescore n-best lists ({called('rescore')}), which does "
                "not need a common one"
            )
    return instantiate(node, _partial_=True)(**options) if options else instantiate(node)


def has_shortlist(search: DictConfig) -> bool:
    """Whether the configuration of a search describes a shortlist; the one for all words does not."""
    return OmegaConf.select(search, "shortlist.likely") is not None
