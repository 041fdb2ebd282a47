"""The mixture of language models that makes held-out text likeliest, as interpolate.py finds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unrolled.api.judged_sentences import texts
from unrolled.api.language_model_run import LanguageModelRun
from unrolled.api.loading import Folder, load
from unrolled.api.torch_settings import usual_settings
from unrolled.api.trained_run import folders_of
from unrolled.errors import UserError
from unrolled.inference.interpolation import comparison, read_text
from unrolled.inference.mixture_weights import tune
from unrolled.inference.trained_language_model import TrainedLanguageModel


@dataclass(frozen=True)
class InterpolatedModels:
    """weights: of the models, in their order, for load([...], f"mixture={weights}"); printed with the perplexities."""

    weights: list[float]
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def interpolate(
    runs: Sequence[Folder], val: Sequence[str], test: Sequence[str] | None = None, *, context: str | None = None
) -> InterpolatedModels:
    """Weights of ``runs``, language models with one vocabulary, that give the sentences ``val`` the highest likelihood.

    runs: folders, or runs that `load` has read, with its options, such as ``trust``. test: sentences to report on too.
    context: "line", each sentence by itself, "text", each after all before it; as the runs were trained if None.
    UserError: translators, several vocabularies, nothing to tune on.
    """
    models: list[TrainedLanguageModel] = []
    given: Sequence[Any] = runs if isinstance(runs, list | tuple) else [runs]
    for it, folder in zip(given, folders_of(runs), strict=True):
        run = it if isinstance(it, LanguageModelRun) else load(folder)  # a loaded run keeps its options
        if not isinstance(run, LanguageModelRun):
            raise UserError(f"run={run.name} is a translator: name language models")
        models += run.models
    lines = {"val": texts(val, "val")} | ({} if test is None else {"test": texts(test, "test")})
    for name, values in (("runs", models), *lines.items()):
        if not values:
            raise UserError(f"{name}=[]: give at least one")
    return interpolated(models, lines, context)


@usual_settings()
def interpolated(
    models: Sequence[TrainedLanguageModel], lines: Mapping[str, Sequence[str]], context: str | None
) -> InterpolatedModels:
    """The same for models and lines that have been read; weights are tuned on ``lines["val"]``."""
    log_probs: dict[str, Any] = {split: read_text(models, text, context) for split, text in lines.items()}
    weights = tune(log_probs["val"])
    return InterpolatedModels(weights.tolist(), comparison([model.name for model in models], log_probs, weights))
