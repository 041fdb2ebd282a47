"""From run folders to a run that can be used."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

from unrolled.api.language_model_run import LanguageModelRun
from unrolled.api.trained_run import TrainedRun, folders_of, trust_of
from unrolled.api.translator_run import TranslatorRun
from unrolled.configuration.composition import composed, known, one_line, options_of
from unrolled.configuration.load import trains_translation
from unrolled.configuration.slots import trusting
from unrolled.errors import UserError

Folder = str | PathLike[str] | TrainedRun
OF_A_TRANSLATOR = ("device", "precision", "max_tokens", "ensemble", "search", "max_length", "longer", "trust")
OF_A_LANGUAGE_MODEL = ("device", "precision", "max_tokens", "mixture", "trust")


def load(
    run: Folder | Sequence[Folder],
    *options: str,
    device: str = "auto",
    precision: str = "32-true",
    trust: str | Sequence[str] | None = None,
) -> TrainedRun:
    """The trained model of a run folder, to be used; of several, an ensemble of translators or a mixture of models.

    options: of translate.py, or of score.py for a language model, such as "ensemble=arithmetic", "search=greedy",
    "max_tokens=500", "mixture=[0.4,0.6]" (equal if not given). device: auto, cpu, cuda, cuda:1. precision: 32-true,
    bf16-mixed or 16-mixed. trust: a package of yours, or several, whose classes the run may name; a run that is
    loaded already brings its own. UserError: no run folder, translators and language models together, an option that
    does not exist.
    """
    folders = folders_of(run)
    if not folders:
        raise UserError("run=[]: name at least one run folder")
    trust = trust_of(run, trust)
    with one_line(), trusting(trust):
        translators = [trains_translation(folder) for folder in folders]
    if len(set(translators)) > 1:
        raise UserError("run=[...]: some are translators and some are language models: load them separately")
    chosen: dict[str, Any] = {"run": folders, "device": device, "precision": precision}
    if trust is not None:
        chosen["trust"] = trust
    kind, command, offered = (
        (TranslatorRun, "translate", OF_A_TRANSLATOR)
        if translators[0]
        else (LanguageModelRun, "score", OF_A_LANGUAGE_MODEL)
    )
    if kind is LanguageModelRun and len(folders) > 1 and not any(option.startswith("mixture=") for option in options):
        chosen["mixture"] = [1 / len(folders)] * len(folders)
    given = [*options_of(chosen), *known(options, offered, "load")]
    return kind(composed(command, given), given)
