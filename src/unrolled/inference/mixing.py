"""Several trained language models as one mixture."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unrolled.errors import NOT_NEGATIVE, UserError, called
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.models.mixture import Mixture


def mixture(models: Sequence[TrainedLanguageModel], weights: Any) -> TrainedLanguageModel:
    """``models`` as one, with weights normalised to sum to 1. UserError: different vocabularies, invalid weights."""
    shown = f"mixture={weights}"
    if not isinstance(weights, list) or len(weights) != len(models):
        if len(models) == 1:
            raise UserError(f"{shown}: there is one run: omit the weights, or name several runs")
        such = f"such as those of {called('interpolate')}"
        raise UserError(f"{shown}: give a weight for each of the {len(models)} runs, {such}")
    if any(weight not in NOT_NEGATIVE for weight in weights):
        raise UserError(f"{shown}: give numbers that are not negative")
    if not math.isclose(sum(weights), 1, abs_tol=1e-3):
        raise UserError(f"{shown}: the weights sum to {sum(weights):g}; give weights that sum to 1")
    check_common_vocabulary(models)
    mixed = Mixture(models=[model.model for model in models], weights=[weight / sum(weights) for weight in weights])
    name = "+".join(model.name for model in models)
    trained = {model.continuous for model in models}
    return replace(
        models[0],
        model=mixed.to(models[0].device),
        name=name,
        continuous=models[0].continuous if len(trained) == 1 else None,
    )


def check_common_vocabulary(models: Sequence[TrainedLanguageModel]) -> None:
    """UserError: language models with different vocabularies."""
    for model in models[1:]:
        if model.tokenizer.sha256 != models[0].tokenizer.sha256:
            raise UserError(
                f"{model.name} has another vocabulary than {models[0].name}: a mixture must share one; train both on "
                "the same data with the same tokenizer=..."
            )
