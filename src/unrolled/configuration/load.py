"""From a run folder to its trained model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn

from unrolled.configuration.build import build_model, build_search, build_tokenizer, has_shortlist
from unrolled.configuration.ranges import check_sizes
from unrolled.configuration.slots import instantiate
from unrolled.configuration.values import CONFIG, read_config, resolved, run_folders
from unrolled.errors import UserError, check_choice
from unrolled.files import reading
from unrolled.inference.mixing import mixture
from unrolled.inference.precision import DTYPES
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.inference.trained_translator import Member, TrainedTranslator
from unrolled.models.language_model import LanguageModel
from unrolled.models.translator import Translator
from unrolled.ngram.model import NgramLanguageModel
from unrolled.runs.folder import short_names
from unrolled.runs.weights import load_weights
from unrolled.search.settings import Greedy
from unrolled.text.sides import load_tokenizers
from unrolled.text.tokenizer import Tokenizer, fingerprint


def load_translator(config: DictConfig) -> TrainedTranslator:
    """The translator in the run folder ``config.run``, or an ensemble of several, with search, mean and device.

    UserError: a run without a translator, or runs with different target vocabularies.
    """
    check_choice("precision", config.precision, DTYPES)
    runs = run_folders(config)
    device = _device(config.device)
    members, targets = [], []
    for run in runs:
        trained, model, source_tokenizer, target_tokenizer = _load(run)
        if not isinstance(model, Translator) or source_tokenizer is None:
            raise UserError(f"run={run}: model={trained.choices.model} is a language model; name a translator's run")
        members.append(Member(model.to(device).eval(), source_tokenizer))
        targets.append(target_tokenizer)
    for run, target in zip(runs, targets, strict=True):
        if target.sha256 != targets[0].sha256:
            raise UserError(
                f"run={run} has another target vocabulary than run={runs[0]}: an ensemble must share one; train both "
                "on the same data with the same tokenizer=..."
            )
    translator = TrainedTranslator(
        members=tuple(members),
        target_tokenizer=targets[0],
        search=Greedy(),
        mean=instantiate(config.ensemble),
        device=torch.device(device),
        max_tokens=config.max_tokens,
        precision=config.precision,
    )
    return searching(translator, config) if "search" in config else translator


def searching(translator: TrainedTranslator, config: DictConfig) -> TrainedTranslator:
    """``translator`` with the search, precision and size of batches of ``config``. UserError: they do not fit."""
    cuts = {member.source_tokenizer.sha256 for member in translator.members}
    if len(cuts) > 1 and OmegaConf.select(config, "search.coverage_penalty"):
        raise UserError("run=[...]: these runs tokenize the source differently: omit search.coverage_penalty")
    if not translator.attends and OmegaConf.select(config, "search.coverage_penalty"):
        raise UserError("search.coverage_penalty: this run has no attention that could cover a source: omit it")
    shortlist = None
    if has_shortlist(config.search):
        from unrolled.configuration.lexical import lexical_shortlist

        run, first = run_folders(config)[0], translator.members[0]
        shortlist = lexical_shortlist(run, config.search.shortlist, first.source_tokenizer, translator.target_tokenizer)
    search = build_search(config, translator.target_tokenizer, shortlist=shortlist)
    return replace(translator, search=search, max_tokens=config.max_tokens, precision=config.precision)


def load_language_model(config: DictConfig) -> TrainedLanguageModel:
    """The language model in the run folder ``config.run``, with device; UserError if it has none."""
    check_choice("precision", config.precision, DTYPES)
    model, tokenizer = load_language_model_of(config.run)
    device = _device(config.device)
    return TrainedLanguageModel(
        model=model.to(device),
        tokenizer=tokenizer,
        device=torch.device(device),
        max_tokens=OmegaConf.select(config, "max_tokens", default=1),  # sample.py has none, as it reads no text
        precision=config.precision,
        continuous=bool(OmegaConf.select(read_config(config.run), "data.stream")),
    )


def load_language_models(config: DictConfig) -> list[TrainedLanguageModel]:
    """The language models in the run folders ``config.run``, or only their mixture if ``config.mixture`` has weights.

    UserError: no run, a run without a language model, invalid weights, different vocabularies in a mixture.
    """
    runs = run_folders(config)
    weights = resolved(config).get("mixture")
    alone = [OmegaConf.merge(config, {"run": run}) for run in runs]
    models = [
        replace(load_language_model(DictConfig(single)), name=name)
        for single, name in zip(alone, short_names(runs), strict=True)
    ]
    return models if weights is None else [mixture(models, weights)]


def trains_translation(run: str | None) -> bool:
    """Whether the run folder ``run`` is that of a translator, not of a language model."""
    config = read_config(run)
    with reading(Path(str(run)) / CONFIG):
        return bool(config.objective.kind == "translation")


def load_language_model_of(run: str | None) -> tuple[LanguageModel, Tokenizer]:
    """The language model in the run folder ``run``, and its vocabulary; UserError if it has none."""
    config, model, _, tokenizer = _load(run)
    if not isinstance(model, LanguageModel):
        raise UserError(f"{run}: model={config.choices.model} is a translator; name a language model's run")
    return model.eval(), tokenizer


def load_ngrams(run: str) -> tuple[NgramLanguageModel, Tokenizer]:
    """The n-gram model in the run folder ``run``, and its vocabulary; UserError if it has none."""
    model, tokenizer = load_language_model_of(run)
    if not isinstance(model, NgramLanguageModel):
        raise UserError(
            f"run={run} is not an n-gram model, and ARPA files hold only those: name a run of model=ngram_lm"
        )
    return model, tokenizer


def load_trained(run: str | None) -> tuple[DictConfig, nn.Module, Tokenizer | None, Tokenizer]:
    """Configuration, trained model of any kind, and the tokenizers of source and target, of the run folder ``run``."""
    return _load(run)


def _load(run: str | None) -> tuple[DictConfig, nn.Module, Tokenizer | None, Tokenizer]:
    """Configuration, trained model, and the tokenizers of source and target."""
    config = read_config(run)
    folder = Path(str(run))
    source_tokenizer, target_tokenizer = tokenizers_of(config, folder)
    source_vocabulary = None if source_tokenizer is None else source_tokenizer.size
    check_sizes(config, str(folder / CONFIG))
    with reading(folder / CONFIG), torch.random.fork_rng(devices=[]):  # initial values that nobody needs are drawn
        model = build_model(config, source_vocabulary=source_vocabulary, target_vocabulary=target_tokenizer.size)
    load_weights(model, folder, fingerprint(source_tokenizer, target_tokenizer))
    return config, model, source_tokenizer, target_tokenizer


def tokenizers_of(config: DictConfig, folder: Path) -> tuple[Tokenizer | None, Tokenizer]:
    """The tokenizers in the run ``folder`` with the configuration ``config``."""
    choice = build_tokenizer(resolved(config.tokenizer)) if config.get("tokenizer") else None
    return load_tokenizers(folder / "tokenizer", choice)


def _device(name: Any) -> str:
    """UserError: a device that torch does not know, or that is not here."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(str(name))
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda", "mps"):
        raise UserError(f"device={name} is unknown; there are auto, cpu, cuda and mps")
    here = {"cpu": True, "cuda": (device.index or 0) < torch.cuda.device_count()}
    if not here.get(device.type, torch.backends.mps.is_available()):
        raise UserError(f"device={name}: torch finds no such device here; omit it, or give device=cpu")
    return str(device)
