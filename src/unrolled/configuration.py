"""Hydra and OmegaConf, and nothing else of the package knows them: from the command line to objects.

A script is a function of its composed configuration under ``@command("name")``, which composes conf/name.yaml.
"""

import functools
import logging
import os
import re
import secrets
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import hydra
import lightning
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, InstantiationException, MissingConfigException
from hydra.types import RunMode
from hydra.utils import instantiate
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException
from torch import nn
from yaml import YAMLError

from unrolled.data.modules import DataModule
from unrolled.data.tokenizer import Tokenizer, load_tokenizers
from unrolled.errors import UserError
from unrolled.models.language_model import LanguageModel, NeuralLanguageModel
from unrolled.models.ngram.model import NgramLanguageModel
from unrolled.models.translator import Translator
from unrolled.search.settings import Greedy
from unrolled.training.comparison.sweep import Run, find_runs, read_run
from unrolled.training.counting import Counting
from unrolled.training.curves import Curves
from unrolled.training.inference import Member, TrainedLanguageModel, TrainedTranslator, load_weights
from unrolled.training.memory import OUT_OF_MEMORY, is_out_of_memory
from unrolled.training.modules import LanguageModeling, Translation
from unrolled.training.ranking import in_order
from unrolled.training.ranks import shared_start, started_from_outside
from unrolled.training.results import read_results
from unrolled.training.resume import check_resumable, moved, status
from unrolled.training.scoring import Column, Detail, mixture, short_names

log = logging.getLogger(__name__)

RESOLVED = "UNROLLED_CONFIG"
"""Environment variable: the path of a resolved configuration that stands in for the command line."""
RESUMED = "UNROLLED_RESUMED"
"""Environment variable beside it: not empty where that run is to be gone on with."""
LONGER = ("trainer.max_epochs", "trainer.max_steps", "trainer.max_time")
CONF = Path(__file__).resolve().parents[2] / "conf"

# Warnings of libraries that no user of the scripts can act on
LIBRARY_NOTICES = (
    ".*exists and is not empty.*",  # the run folder, which holds config.yaml already
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*is smaller than the logging interval.*",
    ".*could not find the monitored key in the returned metrics.*",  # before the first validation
)

# One value a process: part of the names of run and sweep folders, so that two started in one second differ
OmegaConf.register_new_resolver("unique", lambda: secrets.token_hex(3), use_cache=True, replace=True)


def _absolute(paths: str | ListConfig | None) -> str | ListConfig | None:
    """A path, or several, that hold in any folder: evaluate.py finds the data of a run wherever one stands."""
    if paths is None:
        return None
    return os.path.abspath(paths) if isinstance(paths, str) else ListConfig([os.path.abspath(str(p)) for p in paths])


OmegaConf.register_new_resolver("absolute", _absolute, replace=True)


def _start() -> str:
    return shared_start(f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{secrets.token_hex(3)}")


OmegaConf.register_new_resolver("start", _start, use_cache=True, replace=True)


def _run_folder(resume: str | None, new: str) -> str:
    """Where Hydra makes a folder: the one that is resumed, ``new``, or none (here) where the one named is missing."""
    if resume is None:
        return new
    return resume if os.path.isdir(resume) else "."


OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


def command(name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    """Turn a function of the configuration into a script's ``main``.

    A user's mistake ends with one line on stderr and exit status 2; an interruption with 130; results go to stdout, the
    log to stderr. Whatever else goes wrong is our mistake and keeps its traceback.
    """

    def decorate(task: Callable[[DictConfig], Any]) -> Callable[[], None]:
        @functools.wraps(task)
        def job(config: DictConfig) -> Any:
            with _status():
                return task(config)

        def main() -> None:
            logging.basicConfig(
                level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
            )
            for chatter in ("lightning.pytorch", "lightning.fabric", "fontTools", "sacrebleu"):
                logging.getLogger(chatter).setLevel(logging.WARNING)
            for notice in LIBRARY_NOTICES:
                warnings.filterwarnings("ignore", notice)
            os.environ["HYDRA_FULL_ERROR"] = "1"  # let exceptions through to here
            with _status():
                if is_child():  # one of several processes of a run that is already configured
                    task(DictConfig(OmegaConf.load(os.environ[RESOLVED])))
                else:
                    hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(job)()

        return main

    return decorate


@contextmanager
def _status() -> Iterator[None]:
    """A user's mistake: one line on stderr and exit status 2; an interruption: 130; a closed pipe: 141."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever read our output, such as head, wants no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except Exception as problem:
        line = _users_mistake(problem)
        if line is None:
            raise
        print(f"{Path(sys.argv[0]).name}: {line}", file=sys.stderr)
        sys.exit(2)


def _users_mistake(problem: BaseException) -> str | None:
    """The one line that tells a user what to mend, or None if ``problem`` is not the user's."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, UserError):
            return str(cause)
        cause = cause.__cause__
    if isinstance(problem, HydraException | OmegaConfBaseException) and not isinstance(problem, InstantiationException):
        return _configuration_mistake(problem)
    return None


def _configuration_mistake(problem: Exception) -> str:
    """One line from Hydra's several, with the nearest valid choice where there is one."""
    text = str(problem)
    if isinstance(problem, MissingConfigException) and (found := re.search(r"Could not find '([^']+)/([^'/]+)'", text)):
        group, choice = found.groups()
        return f"{group}={choice}: there is no such choice{_nearest(choice, getattr(problem, 'options', None) or [])}"
    if isinstance(problem, MissingMandatoryValue):
        return f"{problem.full_key} is missing: give {problem.full_key}=..."
    if isinstance(problem, InterpolationToMissingValueError) and (found := re.search(r"value: (\S+)", text)):
        return f"{found[1]} is missing: give {found[1]}=..."
    cause = problem.__cause__
    if isinstance(cause, OmegaConfBaseException) and cause.parent_node is not None and cause.key is not None:
        keys = [str(key) for key in cause.parent_node] if isinstance(cause.parent_node, DictConfig) else []
        prefix = str(cause.full_key or cause.key).rpartition(".")[0]
        prefix = f"{prefix}." if prefix else ""
        near = _nearest(str(cause.key), keys)
        return f"{prefix}{cause.key}: there is no such option{near}"
    return " ".join(text.split())


def _nearest(word: str, choices: list[str]) -> str:
    close = get_close_matches(word, choices, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    choices = sorted(choice for choice in choices if not choice.startswith("_"))
    return f"; there are {', '.join(choices)}" if choices else ""


def in_sweep() -> bool:
    """Whether this job is one of a multirun."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def resolved(config: DictConfig) -> Any:
    """Plain dictionaries, lists, strings and numbers, interpolations resolved. A missing value is an error."""
    return OmegaConf.to_container(config, resolve=True, throw_on_missing=True)


def to_yaml(config: DictConfig) -> str:
    """The resolved configuration as YAML, enough to run it again."""
    return OmegaConf.to_yaml(OmegaConf.create(resolved(config)))


def read_config(run: str | None) -> DictConfig:
    """The configuration of the run folder ``run``; UserError if it is no run folder."""
    if run is None:
        raise UserError("run=... is missing: name a run folder, such as run=outputs/cgru-gru_att-reorder/<when>")
    path = Path(run) / "config.yaml"
    if not path.is_file():
        raise UserError(f"run={run}: there is no {path}; name the folder that train.py wrote its results to")
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    return config


class Job(NamedTuple):
    """What a process is to train."""

    config: DictConfig
    resume: bool
    """Whether to go on from the run folder's last checkpoint, rather than to begin."""
    results: dict[str, Any] | None = None
    """Of a run that needs no training any more."""
    original: Path | None = None
    """The run that is to be reproduced."""


def this_job(config: DictConfig) -> Job:
    """What the command line asks for: a new run, the rest of one (``resume=RUN``), one again (``reproduce=RUN``), or a
    job of a sweep.

    A job of a sweep whose folder (``sweep.dir=DIR``) holds it already is not repeated if it has completed or diverged,
    gone on with if it was interrupted, and trained anew if it failed. UserError: no run folder, one that cannot be gone
    on with, options that do not go with ``resume``, a sweep folder that holds another job.
    """
    if is_child():
        return Job(config, resume=bool(os.environ.get(RESUMED)))
    if config.resume is not None:
        return _resumed(config)
    if config.reproduce is not None:
        return _reproduced(config)
    folder = Path(config.run_folder)
    if not in_sweep():
        return Job(config, resume=False)
    if config.logger and config.logger.group is None:
        config.logger.group = Path(config.sweep.dir).name
    if not (folder / "config.yaml").is_file():
        return Job(config, resume=False)
    saved = read_config(str(folder))
    if resolved(saved) not in (resolved(config), resolved(_halved(config))):  # it may have run out of memory
        raise UserError(
            f"sweep.dir={config.sweep.dir}: {folder.name} holds another configuration: give the options of that sweep,"
            " or another sweep.dir"
        )
    found = status(folder)
    if found in ("completed", "diverged"):
        log.info("%s has %s: nothing to do", folder, found)
        return Job(saved, resume=True, results=read_results(folder))
    return Job(saved, resume=True) if found != "failed" else Job(config, resume=False)


def _overrides(chosen: str, allowed: Sequence[str]) -> list[str]:
    """What stands on the command line beside ``chosen``; UserError where it is not in ``allowed``."""
    names = []
    for override in HydraConfig.get().overrides.task:
        name, _, _ = override.lstrip("+").partition("=")
        if name != chosen.partition("=")[0]:
            names.append(name)
            if name not in allowed:
                also = f"; {', '.join(allowed)} may be given beside it, to train longer" if allowed else ""
                raise UserError(f"{override}: {chosen} takes that run's own options{also}")
    return names


def _reproduced(config: DictConfig) -> Job:
    """With the run's own configuration, in a new folder. UserError: a run that did not complete."""
    run, original = read_config(config.reproduce), Path(os.path.abspath(config.reproduce))
    _overrides(f"reproduce={config.reproduce}", ())
    if status(original) != "completed":
        raise UserError(f"reproduce={config.reproduce}: this run did not complete, so that there is nothing to compare")
    return Job(DictConfig(moved(resolved(run), run.run_folder, config.run_folder)), resume=False, original=original)


def _resumed(config: DictConfig) -> Job:
    """With the run's own configuration; longer, if trainer.max_epochs, max_steps or max_time are given."""
    run = read_config(config.resume)
    trainer = resolved(run.trainer)
    for name in _overrides(f"resume={config.resume}", LONGER):
        OmegaConf.update(run, name, OmegaConf.select(config, name))
    folder = Path(os.path.abspath(config.resume))
    check_resumable(folder)
    finished = status(folder) == "completed" and resolved(run.trainer) == trainer
    here = DictConfig(moved(resolved(run), run.run_folder, str(folder)))
    return Job(here, resume=True, results=read_results(folder) if finished else None)


def interrupted(config: DictConfig) -> NoReturn:
    """KeyboardInterrupt, which ends a script with status 130, after a word on what takes up the run or the sweep."""
    sweep = f"the same command with sweep.dir={config.sweep.dir}"
    again = sweep if in_sweep() else f"train.py resume={config.run_folder}"
    log.info("interrupted; %s goes on", again)
    raise KeyboardInterrupt


def is_child() -> bool:
    """Whether this process is one of several that train.py started for its run."""
    return RESOLVED in os.environ


def rank_environment(folder: Path, *, resume: bool) -> dict[str, str]:
    """What tells each of several processes which run it is one of, and whether that goes on."""
    return {RESOLVED: str(folder / "config.yaml"), RESUMED: "1" if resume else ""}


def _halved(config: DictConfig) -> DictConfig:
    """With half the token budget, and twice the batches an update."""
    less = DictConfig(resolved(config))
    if "max_tokens" in config.data:
        for path in ("data.max_tokens", "data.module.max_tokens"):
            OmegaConf.update(less, path, config.data.max_tokens // 2)
    less.trainer.accumulate_grad_batches = 2 * config.trainer.accumulate_grad_batches
    return less


def halved_if_out_of_memory(
    train: Callable[..., dict[str, Any]], config: DictConfig, folder: Path, *, resume: bool
) -> dict[str, Any]:
    """What ``train`` returns; if there is no memory left, once more with half the token budget, from the beginning.

    Then twice as many batches make an update, so that updates are of as many words. One of several processes leaves it
    to the one that started it.
    """
    try:
        return train(config, folder, resume=resume)
    except Exception as problem:
        if not is_out_of_memory(problem) or config.data.get("max_tokens", 1) < 2:
            raise
        if started_from_outside():
            sys.exit(OUT_OF_MEMORY)
    less = _halved(config)
    log.warning("out of memory: once more from the beginning, with data.max_tokens=%d", less.data.max_tokens)
    return train(less, folder, resume=False)


def load_runs(folders: str | list[str] | None) -> list[Run]:
    """The run folders among ``folders``, see `find_runs`, read. UserError: what `find_runs` refuses."""
    runs = []
    for folder in find_runs(folders):
        try:
            config = resolved(read_config(str(folder))) if (folder / "config.yaml").is_file() else None
        except (YAMLError, OmegaConfBaseException, AssertionError):  # damaged, as on a full disk
            config = None
        runs.append(read_run(folder, config))
    return runs


def check_numbers(config: DictConfig) -> None:
    """UserError where a seed, size, share of dropout or learning rate of ``config`` is not one."""
    whole, share = "give a whole number from 1", "give a number from 0 to below 1"
    for group in ("model", "attention"):
        for key, value in config[group].items():
            if key.endswith(("size", "layers")) and not (isinstance(value, int) and value > 0):
                raise UserError(f"{group}.{key}={value}: {whole}")
            if key.endswith("dropout") and not (isinstance(value, int | float) and 0 <= value < 1):
                raise UserError(f"{group}.{key}={value}: {share}")
    smoothing, rate = config.objective.get("label_smoothing", 0.0), config.optimizer.get("lr", 1.0)
    if not (isinstance(smoothing, int | float) and 0 <= smoothing < 1):
        raise UserError(f"objective.label_smoothing={smoothing}: {share}")
    if not (isinstance(rate, int | float) and rate > 0):
        raise UserError(f"optimizer.lr={rate}: give a number above 0")
    if not (isinstance(config.seed, int) and 0 <= config.seed < 2**32):
        raise UserError(f"seed={config.seed}: give a whole number from 0 to {2**32 - 1}")


def check_training(config: DictConfig, processes: int) -> None:
    """UserError where the objective of ``config`` cannot use how it is to be trained."""
    name = config.choices.model
    optimized = {group: bool(config[group]) for group in ("optimizer", "schedule")}
    if not config.objective._target_.endswith(f".{Counting.__name__}"):
        if not all(optimized.values()):
            raise UserError(f"model={name} is trained by gradients: optimizer=none and schedule=none are not for it")
        return
    for group, chosen in optimized.items():
        if chosen:
            raise UserError(f"model={name} is counted, there is nothing to optimise: leave {group}=... away")
    if config.trainer.gradient_clip_val is not None or config.trainer.accumulate_grad_batches != 1:
        raise UserError(
            f"model={name} is counted and has no gradients: leave trainer.gradient_clip_val and "
            "trainer.accumulate_grad_batches away"
        )
    if processes > 1:
        raise UserError(f"model={name} is counted by one process, not by {processes}: take hardware=cpu")


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


def build_search(config: DictConfig, vocabulary: Tokenizer) -> Any:
    """The search of ``config`` for targets of ``vocabulary``; UserError: a language model with another one."""
    run = config.search.get("language_model")
    if run is None:
        return instantiate(config.search)
    model, tokenizer = _load_language_model(run)
    if tokenizer.sha256 != vocabulary.sha256:
        raise UserError(
            f"search.language_model={run} has another vocabulary than the translations: train it on the same data "
            "with the same tokenizer=..., or let it rescore n-best lists (src/rescore.py), which needs no common one"
        )
    return instantiate(config.search, _partial_=True)(language_model=model)


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


def load_translator(config: DictConfig) -> TrainedTranslator:
    """The translator of the run folder ``config.run``, or of several as an ensemble, with search, mean and device.

    UserError: a run that holds none, or runs with different target vocabularies.
    """
    runs = run_folders(config)
    device = _device(config.device)
    members, targets = zip(*(_load_member(run, device) for run in runs), strict=True)
    for run, target in zip(runs, targets, strict=True):
        if target.sha256 != targets[0].sha256:
            raise UserError(
                f"run={run} has another target vocabulary than run={runs[0]}: an ensemble needs one; train both on the "
                "same data with the same tokenizer=..."
            )
    cuts = {member.source_tokenizer.sha256 for member in members}
    if len(cuts) > 1 and OmegaConf.select(config, "search.coverage_penalty"):
        raise UserError("run=[...]: these runs cut the source differently: leave search.coverage_penalty away")
    return TrainedTranslator(
        members=members,
        target_tokenizer=targets[0],
        search=build_search(config, targets[0]) if "search" in config else Greedy(),
        mean=instantiate(config.ensemble),
        device=torch.device(device),
        max_tokens=config.max_tokens,
        precision=config.precision,
    )


def load_language_model(config: DictConfig) -> TrainedLanguageModel:
    """The language model of the run folder ``config.run``, with device; UserError if it holds none."""
    model, tokenizer = _load_language_model(config.run)
    device = _device(config.device)
    return TrainedLanguageModel(
        model=model.to(device),
        tokenizer=tokenizer,
        device=torch.device(device),
        max_tokens=config.max_tokens,
        precision=config.precision,
        continuous=bool(OmegaConf.select(read_config(config.run), "data.stream")),
    )


def load_language_models(config: DictConfig) -> list[TrainedLanguageModel]:
    """Those of the run folders ``config.run``, or their mixture alone where ``config.mixture`` gives weights.

    UserError: no run, a run that holds no language model, weights that are none, different vocabularies in a mixture.
    """
    runs = run_folders(config)
    weights = resolved(config).get("mixture")
    alone = [OmegaConf.merge(config, {"run": run}) for run in runs]
    models = [
        replace(load_language_model(DictConfig(each)), name=name)
        for each, name in zip(alone, short_names(runs), strict=True)
    ]
    return models if weights is None else [mixture(models, weights)]


def run_folders(config: DictConfig, option: str = "run") -> list[str]:
    """The value of ``option`` as a list; UserError if it is empty."""
    value = config[option]
    runs = list(value) if isinstance(value, ListConfig) else [value]
    if not runs:
        raise UserError(f"{option}=[]: name at least one run folder")
    return runs


def load_scorer(run: str, config: DictConfig) -> tuple[Any, bool]:
    """The model of the run folder ``run``, and whether it scores pairs rather than sentences."""
    chosen = OmegaConf.merge(config, {"run": run})
    assert isinstance(chosen, DictConfig)
    if trains_translation(run):
        return load_translator(chosen), True
    return load_language_model(chosen), False


def trains_translation(run: str | None) -> bool:
    """Whether the run folder ``run`` is a translator's, not a language model's."""
    return bool(read_config(run).objective._target_.endswith("Translation"))


def _load_language_model(run: str | None) -> tuple[LanguageModel, Tokenizer]:
    config, model, _, tokenizer = _load(run)
    if not isinstance(model, LanguageModel):
        raise UserError(f"{run}: model={config.choices.model} is a translator; name a language model's run")
    return model.eval(), tokenizer


def load_ngrams(run: str) -> tuple[NgramLanguageModel, Tokenizer]:
    """The n-gram model of the run folder ``run``, and its vocabulary; UserError if it holds none."""
    model, tokenizer = _load_language_model(run)
    if not isinstance(model, NgramLanguageModel):
        raise UserError(f"run={run} is no n-gram model, which alone ARPA files can hold: name a run of model=ngram_lm")
    return model, tokenizer


def _load_member(run: str | None, device: str) -> tuple[Member, Tokenizer]:
    config, model, source_tokenizer, target_tokenizer = _load(run)
    if not isinstance(model, Translator) or source_tokenizer is None:
        raise UserError(f"run={run}: model={config.choices.model} is a language model; name a translator's run")
    return Member(model.to(device).eval(), source_tokenizer), target_tokenizer


def _load(run: str | None) -> tuple[DictConfig, nn.Module, Tokenizer | None, Tokenizer]:
    """Configuration, trained model, and the tokenizers of source and target."""
    config = read_config(run)
    assert run is not None
    source_tokenizer, target_tokenizer = load_tokenizers(Path(run) / "tokenizer")
    source_vocabulary = None if source_tokenizer is None else source_tokenizer.size
    model = build_model(config, source_vocabulary=source_vocabulary, target_vocabulary=target_tokenizer.size)
    load_weights(model, Path(run))
    return config, model, source_tokenizer, target_tokenizer


def _device(name: str) -> str:
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return name
