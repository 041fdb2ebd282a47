"""From a configuration to objects."""

from collections.abc import Sequence

from hydra.utils import instantiate
from omegaconf import DictConfig
from torch import nn

from unrolled.data.modules import DataModule
from unrolled.training.ranking import in_order
from unrolled.training.scoring import Column, Detail


def build_data(config: DictConfig) -> DataModule:
    """The data module of ``config``."""
    return instantiate(config.data.module)


def build_model(config: DictConfig, *, source_vocabulary: int | None, target_vocabulary: int) -> nn.Module:
    """The model of ``config``; UserError where model, attention and data do not go together."""
    attention = instantiate(config.attention) or None
    return instantiate(config.model)(
        source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, attention=attention
    )


def build_detail(config: DictConfig, columns: Sequence[Column]) -> Detail:
    """What score.py shows of each of ``columns``, ranked or as it comes. UserError: what does not go together."""
    detail: Detail = instantiate(config.detail)(columns=columns)
    return in_order(config.rank, detail, columns=len(columns), context=config.context)
