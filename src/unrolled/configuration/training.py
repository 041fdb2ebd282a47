"""From a configuration to what Lightning trains, and with what."""

from pathlib import Path
from typing import Any

import lightning
from hydra.utils import instantiate
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig

from unrolled.configuration.building import build_model
from unrolled.configuration.loading import build_search
from unrolled.configuration.reading import resolved
from unrolled.data.modules import DataModule
from unrolled.errors import UserError
from unrolled.models.language_model import NeuralLanguageModel
from unrolled.models.ngram.model import NgramLanguageModel
from unrolled.models.translator import Translator
from unrolled.search.settings import Greedy
from unrolled.training.counting import Counting
from unrolled.training.curves import Curves
from unrolled.training.modules import LanguageModeling, Translation

TRAINED_BY = (
    (Translator, "translation", Translation),
    (NeuralLanguageModel, "language_modeling", LanguageModeling),
    (NgramLanguageModel, "counting", Counting),
)
"""Each kind of model, the objective's name, and its LightningModule."""


def build_module(config: DictConfig, data: DataModule) -> Translation | LanguageModeling:
    """The LightningModule of ``config``, for data that is set up."""
    source = data.source_tokenizer
    model = build_model(
        config, source_vocabulary=None if source is None else source.size, target_vocabulary=data.target_tokenizer.size
    )
    objective = instantiate(config.objective)
    name, fitting = next((name, fitting) for kind, name, fitting in TRAINED_BY if isinstance(model, kind))
    if objective.func is not fitting:
        raise UserError(f"model={config.choices.model} is trained by objective={name}, not by another")
    supervision = instantiate(config.alignment) if "_target_" in config.alignment else None
    if supervision is not None and fitting is not Translation:
        raise UserError(f"model={config.choices.model} does not align: leave alignment=... away, or take model=cgru")
    if fitting is Counting:
        return objective(model=model)
    shared = {"model": model, "optimizer": _optimizer(config), "schedule": instantiate(config.schedule)}
    if objective.func is LanguageModeling:
        return objective(**shared)
    return objective(
        **shared,
        decode=data.target_tokenizer.decode,
        references={split: data.references(split) for split in ("val", "test")},
        words={split: data.words_of_pieces(split) for split in ("val", "test")},
        gold={split: data.gold(split) for split in ("val", "test")},
        supervision=supervision,
        bleu_tokenize=config.data.bleu_tokenize,
        bleu_lowercase=config.data.bleu_lowercase,
        validation_search=Greedy(),
        test_search=build_search(config, data.target_tokenizer),
    )


def _optimizer(config: DictConfig) -> Any:
    # Lightning does not clip gradients of fused optimisers under mixed precision
    if "mixed" in str(config.trainer.get("precision")) and "fused" in config.optimizer:
        return instantiate(config.optimizer, fused=False)
    return instantiate(config.optimizer)


def build_trainer(config: DictConfig, *, resume: bool = False) -> lightning.Trainer:
    """Lightning's Trainer with the callbacks and loggers of ``config``; ``resume``: those of the run that was."""
    folder = Path(config.run_folder)
    loggers: list[Logger] = [Curves(str(folder))]
    if config.logger:
        loggers.append(instantiate(config.logger)(configuration=resolved(config), resume=resume))
    callbacks = [instantiate(node) for node in config.callbacks.values()]
    try:
        return instantiate(config.trainer)(
            callbacks=callbacks,
            enable_progress_bar=any(isinstance(callback, ProgressBar) for callback in callbacks),
            logger=loggers,
            default_root_dir=str(folder),
        )
    except (MisconfigurationException, ValueError, TypeError) as problem:
        raise UserError(f"hardware or trainer: Lightning says: {' '.join(str(problem).split())}") from problem
