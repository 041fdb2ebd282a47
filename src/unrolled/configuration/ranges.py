"""The allowed values of every number and switch in conf/, in one table that each configuration is checked against.

Our own options are also checked by the class that takes them, for use from Python; some ranges are known only there
(`Grammar`, `Aligner`). The ranges of Lightning's and PyTorch's options are only here.
"""

import re
from dataclasses import dataclass, replace

from omegaconf import DictConfig, ListConfig, OmegaConf

from unrolled.errors import (
    FLAG,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_WHOLE,
    WHOLE,
    Allowed,
    Numbers,
    OneOf,
    check,
    shown,
)


class Name:
    """Text that is not empty: a path, or a name."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value != ""

    def __str__(self) -> str:
        return "a name"


@dataclass(frozen=True)
class Paths:
    """A path, perhaps ``several``; null where none is needed. What Hydra reads as a number is not a path."""

    several: bool = False

    def __contains__(self, value: object) -> bool:
        if self.several and isinstance(value, ListConfig):
            return all(path is None or isinstance(path, str) for path in value._iter_ex(resolve=False))
        return value is None or isinstance(value, str)

    def __str__(self) -> str:
        return "a path; a name that reads as a number needs ./ before it"


class OptionName:
    """The name of an option, or null."""

    def __contains__(self, value: object) -> bool:
        return value is None or isinstance(value, str)

    def __str__(self) -> str:
        return "the name of an option, such as data.language"


class ByName:
    """Values by their names; null where none are needed."""

    def __contains__(self, value: object) -> bool:
        return value is None or (isinstance(value, DictConfig) and all(isinstance(name, str) for name in value))

    def __str__(self) -> str:
        return "names with their values: '{name: value}'"


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a table, perhaps ``none``."""

    none: bool = False

    def __contains__(self, value: object) -> bool:
        columns = list(value) if isinstance(value, ListConfig) else [value]
        named = bool(columns) and all(column in POSITIVE_WHOLE or column in Name() for column in columns)
        return named or (self.none and value is None)

    def __str__(self) -> str:
        return f"a column's number, from 1, or its name, or several: '[1,3]'{', or null' * self.none}"


class Batches:
    """How many batches: a share of all, or a number of them."""

    def __contains__(self, value: object) -> bool:
        return value in (Numbers(above=0, most=1) if isinstance(value, float) else POSITIVE_WHOLE)

    def __str__(self) -> str:
        return "a share such as 0.5, 1.0 for all, or a whole number of batches from 1"


class Duration:
    """A time as Lightning writes it, longer than none; or no limit."""

    def __contains__(self, value: object) -> bool:
        written = isinstance(value, str) and re.fullmatch(r"\d{1,5}:\d\d:\d\d:\d\d", value)
        return value is None or (bool(written) and any(digit in "123456789" for digit in str(value)))

    def __str__(self) -> str:
        return "DD:HH:MM:SS, days, hours, minutes and seconds, such as 00:01:30:00; or null"


@dataclass(frozen=True)
class Only:
    """The only value with which a run works, perhaps ``or_null``, and what to do ``instead`` of another."""

    value: bool | int | str | None
    instead: str
    or_null: bool = False

    def __contains__(self, value: object) -> bool:
        return (type(value) is type(self.value) and value == self.value) or (self.or_null and value is None)

    def __str__(self) -> str:
        return f"{shown(self.value)}; {self.instead}"


class Tags:
    """A list of words, perhaps an empty one."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, ListConfig) and all(word in Name() for word in value._iter_ex(resolve=False))

    def __str__(self) -> str:
        return "a list of words: '[first,try]', or [] for none"


class HowManyOrWhich:
    """How many of the first lines, or the lines with these numbers."""

    def __contains__(self, value: object) -> bool:
        return value in WHOLE or (isinstance(value, ListConfig) and all(line in POSITIVE_WHOLE for line in value))

    def __str__(self) -> str:
        return "how many, a whole number from 0, or the numbers of lines: '[4,17]'"


@dataclass(frozen=True)
class TwoNumbers:
    """Two values, each of them ``allowed``."""

    allowed: Allowed

    def __contains__(self, value: object) -> bool:
        return isinstance(value, ListConfig) and len(value) == 2 and all(number in self.allowed for number in value)

    def __str__(self) -> str:
        return f"two of them, each {self.allowed}: '[0.9,0.999]'"


SHARE = Numbers(least=0, below=1)
SIZE = Numbers(least=1, most=2**16, whole=True)  # of a layer: more is a typing error, and fits into no memory
COUNT = Numbers(least=1, most=10**9, whole=True)
HYPOTHESES = Numbers(least=1, most=10**5, whole=True)
LIMIT = Numbers(least=1, whole=True, also=(-1, None))  # -1 and null: none
SEED = Numbers(least=0, most=2**32 - 1, whole=True)
TRIALS = Numbers(least=1, most=10**6, whole=True)
NULL_OR_WHOLE = replace(POSITIVE_WHOLE, also=(None,))
ANY_OR_NULL = Numbers(also=(None,))
PATH, PATHS = Paths(), Paths(several=True)
BY_NAME = ByName()
AT_VALIDATIONS = Only(
    None,
    "the best weights are those of a validation; callbacks.saving.minutes and .steps set how often last.ckpt is saved",
)
MODE = OneOf(("min", "max"))

OPTIONS: dict[str, Allowed] = {
    # train
    "seed": SEED,
    "cache": Name(),
    "run_folder": Name(),
    "name": Name(),
    "sweep.dir": Name(),
    "sweep.wait": FLAG,
    "trainer.max_epochs": LIMIT,
    "trainer.min_epochs": NULL_OR_WHOLE,
    "trainer.max_time": Duration(),
    "trainer.max_steps": Numbers(least=1, whole=True, also=(-1,)),
    "trainer.min_steps": NULL_OR_WHOLE,
    "trainer.num_nodes": POSITIVE_WHOLE,
    "trainer.accelerator": Name(),
    "trainer.strategy": Name(),
    "trainer.gradient_clip_val": replace(NOT_NEGATIVE, also=(None,)),
    "trainer.gradient_clip_algorithm": OneOf(("norm", "value")),
    "trainer.accumulate_grad_batches": POSITIVE_WHOLE,
    "trainer.val_check_interval": Batches(),
    "trainer.check_val_every_n_epoch": NULL_OR_WHOLE,
    "trainer.log_every_n_steps": POSITIVE_WHOLE,
    "trainer.limit_train_batches": Batches(),
    "trainer.limit_val_batches": Batches(),
    "trainer.limit_test_batches": Batches(),
    "trainer.limit_predict_batches": Batches(),
    "trainer.overfit_batches": Only(
        0, "to fit a few batches only, give trainer.limit_train_batches and the training text as data.val"
    ),
    "trainer.num_sanity_val_steps": replace(WHOLE, also=(-1,)),
    "trainer.reload_dataloaders_every_n_epochs": Only(0, "every epoch has its own order without it"),
    "trainer.deterministic": OneOf((True, False, "warn", None)),
    "trainer.enable_model_summary": FLAG,
    "trainer.use_distributed_sampler": FLAG,
    "trainer.detect_anomaly": FLAG,
    "trainer.benchmark": OneOf((True, False, None)),
    "trainer.inference_mode": FLAG,
    "trainer.sync_batchnorm": FLAG,
    "trainer.enable_autolog_hparams": FLAG,
    "trainer.enable_checkpointing": Only(True, "a run needs its checkpoints: leave them on"),
    "trainer.fast_dev_run": Only(False, "it leaves no results: use debug=quick for a trial of everything"),
    "trainer.barebones": Only(False, "a run needs its checkpoints and curves: omit it"),
    "trainer.enable_progress_bar": Only(True, "without a progress bar: ~callbacks.progress"),
    "trainer.callbacks": Only(None, "they have a group of their own: +callbacks.NAME._target_=CLASS"),
    "trainer.logger": Only(False, "they have a group of their own: logger=csv"),
    "trainer.default_root_dir": Only(None, "the folder of a run is hydra.run.dir=DIR"),
    # models and attentions
    "model.embedding_size": SIZE,
    "model.encoder_size": SIZE,
    "model.decoder_size": SIZE,
    "model.decoder.input_feeding": FLAG,
    "model.hidden_size": SIZE,
    "model.encoder_layers": Numbers(least=1, most=100, whole=True),
    "model.layers": Numbers(least=1, most=100, whole=True),
    "model.order": POSITIVE_WHOLE,
    "model.embedding_dropout": SHARE,
    "model.annotation_dropout": SHARE,
    "model.readout_dropout": SHARE,
    "model.dropout": SHARE,
    "model.orthogonal": FLAG,
    "model.variational": FLAG,
    "model.direct": FLAG,
    "model.tied_embeddings": FLAG,
    "model.tied_target_embeddings": FLAG,
    "model.estimator.alpha": replace(POSITIVE, instead="use model/estimator=maximum_likelihood"),
    "model.estimator.discount": Numbers(above=0, below=1, also=(None,)),
    "model.estimator.most": Numbers(least=2, whole=True),
    "attention.size": SIZE,
    "attention.coverage_size": SIZE,
    "attention.filters": COUNT,
    "attention.kernel_size": COUNT,
    # data
    "data.max_tokens": COUNT,
    "data.max_length": COUNT,
    "data.epochs": LIMIT,
    "data.stream": FLAG,
    "data.stream_rows": COUNT,
    "data.stream_steps": COUNT,
    "data.alignment_base": Numbers(least=0, most=1, whole=True),
    "data.bleu_lowercase": FLAG,
    "data.bleu_tokenize": Name(),
    "data.source_language": Name(),
    "data.target_language": Name(),
    "data.root": Name(),
    "data.train": PATHS,
    "data.val": PATHS,
    "data.test": PATHS,
    "data.train_alignment": PATH,
    "data.val_alignment": PATH,
    "data.test_alignment": PATH,
    "tokenizer.size": replace(COUNT, also=(None,)),
    "tokenizer.min_count": COUNT,
    "tokenizer.joint": FLAG,
    # training
    "objective.label_smoothing": SHARE,
    "objective.doubly_stochastic": NOT_NEGATIVE,
    "objective.gradient_regularization": NOT_NEGATIVE,
    "objective.mode": MODE,
    "alignment.weight": NOT_NEGATIVE,
    "alignment.decay": Numbers(above=0, most=1),
    "alignment.share": Numbers(least=0, most=1),
    "alignment.replace": FLAG,
    "optimizer.lr": POSITIVE,
    "optimizer.betas": TwoNumbers(SHARE),
    "optimizer.eps": POSITIVE,
    "optimizer.rho": SHARE,
    "optimizer.momentum": SHARE,
    "optimizer.weight_decay": NOT_NEGATIVE,
    "optimizer.fused": OneOf((True, False, None)),
    "schedule.steps": replace(POSITIVE_WHOLE, also=(None,), instead="use schedule=constant"),
    "schedule.warm_up": WHOLE,
    "schedule.factor": Numbers(above=0, below=1),
    "schedule.patience": WHOLE,
    "schedule.minimum": NOT_NEGATIVE,
    "callbacks.attention_record.sentences": POSITIVE_WHOLE,
    "callbacks.checkpoint.save_top_k": Only(
        1, "callbacks.kept.best and callbacks.kept.last keep the weights of several validations, for average.py"
    ),
    **{f"callbacks.checkpoint.{moment}": AT_VALIDATIONS for moment in ("every_n_train_steps", "train_time_interval")},
    "callbacks.checkpoint.save_on_train_epoch_end": replace(AT_VALIDATIONS, value=False, or_null=True),
    "callbacks.checkpoint.save_weights_only": Only(False, "best.ckpt holds the figures of its validation, too"),
    "callbacks.checkpoint.enable_version_counter": FLAG,
    "callbacks.checkpoint.save_last": OneOf((True, False, "link", None)),
    "callbacks.checkpoint.dirpath": PATH,
    "callbacks.checkpoint.filename": Only(
        "best",
        "other commands look for the best weights in best.ckpt; callbacks.kept keeps those of more validations",
    ),
    "callbacks.checkpoint.mode": MODE,
    "callbacks.diverged.limit": Numbers(above=1),
    "callbacks.early_stopping.patience": WHOLE,
    "callbacks.early_stopping.mode": MODE,
    "callbacks.kept.mode": MODE,
    "callbacks.early_stopping.check_finite": FLAG,
    "callbacks.early_stopping.check_on_train_epoch_end": Only(
        False, "it judges validations, and an epoch may have several of them, or none"
    ),
    "callbacks.early_stopping.min_delta": Numbers(),
    "callbacks.early_stopping.stopping_threshold": ANY_OR_NULL,
    "callbacks.early_stopping.divergence_threshold": ANY_OR_NULL,
    "callbacks.gradient_norms.sentences": POSITIVE_WHOLE,
    "callbacks.gradient_norms.steps": POSITIVE_WHOLE,
    "callbacks.gradient_norms.words": POSITIVE_WHOLE,
    "callbacks.kept.best": WHOLE,
    "callbacks.kept.last": WHOLE,
    "callbacks.pictures.sentences": WHOLE,
    "callbacks.pictures.validations": FLAG,
    "callbacks.attention_record.validations": FLAG,
    "data.columns.source": ColumnNames(),
    "data.columns.target": ColumnNames(),
    "data.columns.features": ColumnNames(none=True),
    "callbacks.progress.seconds": NOT_NEGATIVE,
    "callbacks.saving.minutes": replace(POSITIVE, also=(None,)),
    "callbacks.saving.steps": NULL_OR_WHOLE,
    **{f"callbacks.{name}.folder": Name() for name in ("pictures", "attention_record", "kept", "gradient_norms")},
    **{f"logger.{name}.folder": Name() for name in ("wandb", "mlflow", "tensorboard")},
    **{f"callbacks.{name}.name": Name() for name in ("pictures", "attention_record")},
    "logger.wandb.project": Name(),
    "logger.wandb.name": Name(),
    "logger.mlflow.name": Name(),
    "logger.wandb.mode": OneOf(("auto", "online", "offline", "disabled")),
    "logger.wandb.tags": Tags(),
    # searches
    "search.beam_size": HYPOTHESES,
    "search.coverage_penalty": NOT_NEGATIVE,
    "search.shortlist.likely": replace(COUNT, also=(None,)),
    "search.shortlist.frequent": COUNT,
    "search.language_model_weight": NOT_NEGATIVE,
    "search.length_normalization.alpha": Numbers(least=0, most=10),
    "search.length_normalization.power": Numbers(least=0, most=10),
    "search.max_length_extra": Numbers(least=0, most=10**6, whole=True),
    "validation_search.max_length_extra": Numbers(least=0, most=10**6, whole=True),
    "search.max_length_ratio": Numbers(least=0, most=10**6),
    "search.min_length_ratio": Numbers(least=0, most=10**6),
    "search.seed": SEED,
    # other commands
    "output": PATH,
    "source": PATH,
    "target": PATH,
    "alignments": PATH,
    "translate weights": PATH,
    "score weights": PATH,
    "gold": PATH,
    "forward": PATH,
    "backward": PATH,
    "rescore nbest": PATH,
    "reference": PATH,
    "file": PATH,
    "from": PATH,
    "to": PATH,
    "source_dictionary": PATH,
    "target_dictionary": PATH,
    "source_codes": PATH,
    "target_codes": PATH,
    "val": PATHS,
    "test": PATHS,
    "interpolate val": PATH,
    "interpolate test": PATH,
    "rescore weights": BY_NAME,
    "scorers": BY_NAME,
    "over": OptionName(),
    "bleu_tokenize": Name(),
    "max_tokens": COUNT,
    "max_length": COUNT,
    "lines": COUNT,
    "number": COUNT,
    "batch": COUNT,
    "translate nbest": HYPOTHESES,
    "gold_base": Numbers(least=0, most=1, whole=True),
    "pictures": HowManyOrWhich(),
    "probe": FLAG,
    "bleu_lowercase": FLAG,
    "restarts": Numbers(least=0, most=10**6, whole=True),
    "bootstrap": replace(TRIALS, least=2),
    "randomization": TRIALS,
    "sentences": WHOLE,
    "align": WHOLE,
    "optimize_tension": FLAG,
    "cost": FLAG,
    "use_dropout": OneOf((True, False, None)),
}
"""The allowed values of each option, in every configuration that has it; ``translate nbest``: only in that command."""

ALIGNER = ("iterations", "hmm_iterations", "p0", "tension", "alpha")
CHECKED_WHERE_TAKEN = (
    "data.grammar.",
    "data.demo.",
    "data.lookup.",
    *ALIGNER,
    "search.temperature",
    "search.top_",
    "rank",
    "trainer.devices",
    "sweep.epochs.",  # trainer.max_epochs of a language
)
"""Prefixes of options that are checked only where they are used: by `Grammar`, `Aligner`, `Sampling` and so on."""

NO_OTHER_LAST = Only(
    False,
    "callbacks.saving writes last.ckpt, from which a run resumes exactly; this would replace it",
    or_null=True,
)
"""For callbacks.checkpoint.save_last, where callbacks.saving is at work. What is counted has only the former."""

OF_A_SWEEP: dict[str, Allowed] = {
    "hydra.sweeper.max_batch_size": NULL_OR_WHOLE,
    "hydra.launcher.n_jobs": replace(POSITIVE_WHOLE, also=(-1,)),
}
"""What Hydra's own sweeper and the launcher joblib are given; -1: as many jobs as there are CPUs."""

OF_A_MODEL = ("model.", "attention.")
"""What a model that is loaded is built from: with any numbers, building it might never end."""

ABSENT = object()


def check_options(config: DictConfig, command: str) -> None:
    """UserError for an invalid number or switch in the ``config`` of a command."""
    of_command = ((option.rpartition(" "), allowed) for option, allowed in OPTIONS.items())
    options = {path: allowed for (where, _, path), allowed in of_command if where in ("", command)}
    if OmegaConf.select(config, "callbacks.saving") is not None:
        options["callbacks.checkpoint.save_last"] = NO_OTHER_LAST
    _check(config, options)


def check_sizes(config: DictConfig, where: str) -> None:
    """UserError, naming ``where`` it is from, for an invalid number or switch of the model or the attention."""
    _check(config, {path: allowed for path, allowed in OPTIONS.items() if path.startswith(OF_A_MODEL)}, f"{where}: ")


def check_sweep(config: DictConfig) -> None:
    """UserError for an invalid number of jobs at once in the ``config`` of a sweep."""
    _check(config, OF_A_SWEEP)


def _check(config: DictConfig, options: dict[str, Allowed], prefix: str = "") -> None:
    for path, allowed in options.items():
        value = OmegaConf.select(config, path, default=ABSENT)
        if value is not ABSENT:
            check(prefix + path, value, allowed)
