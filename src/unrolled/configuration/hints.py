"""What may have been meant: the words that other toolkits have for our options, and words that are no options."""

import os
import re
from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hydra._internal.utils import get_args_parser
from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.elsewhere import choices_with
from unrolled.errors import UserError, closest, nearest

SIZES = ("model.hidden_size", "model.encoder_size", "model.decoder_size")
DROPOUT = ("model.dropout", "model.embedding_dropout", "model.annotation_dropout", "model.readout_dropout")
BATCH = ("data.max_tokens", "max_tokens")
LAYERS = ("model.layers", "model.encoder_layers")
VOCABULARY = ("tokenizer.size",)
FUNCTIONS = ("choice", "range", "interval", "tag", "sort", "shuffle", "glob", "int", "float", "str", "bool")
"""What Hydra calls in the value of an option."""
TEXTS = ("data.root", "data.train", "data=parallel_text", "data=monolingual_text")
LANGUAGES = ("data.source_language", "data.target_language", "data=parallel_text")
CLIP = ("trainer.gradient_clip_val",)
GPUS = ("hardware=gpu", "hardware=multi_gpu", "device")
HALF = ("hardware=gpu_bf16", "hardware=cpu_bf16", "precision")
WARM_UP = ("schedule=warm_up", "schedule.steps")
WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("lr", "learning_rate", "alpha", "eta"), ("optimizer.lr",)),
    **dict.fromkeys(("epochs", "epoch", "max_epoch", "n_epochs", "num_epochs"), ("trainer.max_epochs",)),
    **dict.fromkeys(("steps", "updates", "max_updates", "iterations", "train_steps"), ("trainer.max_steps",)),
    **dict.fromkeys(("batch_size", "batch", "batchsize", "bs", "batch_tokens"), BATCH),
    **dict.fromkeys(("hidden_size", "hidden", "hidden_dim", "dim", "units", "rnn_size", "d_model"), SIZES),
    **dict.fromkeys(("embedding", "embedding_dim", "embed_dim", "emb_size", "emsize"), ("model.embedding_size",)),
    **dict.fromkeys(("dropout", "drop", "p_drop"), DROPOUT),
    **dict.fromkeys(("layers", "num_layers", "n_layers", "nlayers"), LAYERS),
    **dict.fromkeys(("cell", "rnn", "rnn_type", "cell_type"), ("model.cell", "model.decoder.cell")),
    **dict.fromkeys(("order", "ngram", "n"), ("model.order", "nbest", "number")),
    **dict.fromkeys(("beam", "beams", "beam_width", "num_beams", "k"), ("search.beam_size",)),
    **dict.fromkeys(("lm", "lm_path"), ("search.language_model", "scorers", "run")),
    **dict.fromkeys(("lm_weight",), ("search.language_model_weight",)),
    **dict.fromkeys(("temp",), ("search.temperature",)),
    **dict.fromkeys(("n_best", "num_samples", "samples", "count"), ("nbest", "number")),
    **dict.fromkeys(("gpu", "gpus", "num_gpus", "cuda", "ngpu"), GPUS),
    **dict.fromkeys(("device", "accelerator", "cpu"), ("hardware=cpu", "hardware=gpu", "device")),
    **dict.fromkeys(("processes", "ddp"), ("hardware=multi_gpu", "hardware=ddp_cpu")),
    **dict.fromkeys(("nodes",), ("hardware=multi_node",)),
    **dict.fromkeys(("fp16", "bf16", "amp", "half", "mixed_precision"), HALF),
    **dict.fromkeys(("vocab_size", "vocab", "vocabulary_size", "vocabulary", "merges"), VOCABULARY),
    **dict.fromkeys(("bpe", "subword", "subwords"), ("tokenizer=bpe",)),
    **dict.fromkeys(("lang", "language", "src_lang", "tgt_lang", "source_lang", "target_lang"), LANGUAGES),
    **dict.fromkeys(("train", "train_file", "train_data", "corpus", "data_dir", "data_path", "path"), TEXTS),
    **dict.fromkeys(("warmup", "warm_up", "warmup_steps"), WARM_UP),
    **dict.fromkeys(("scheduler", "lr_scheduler", "lr_schedule"), ("schedule=warm_up", "schedule=halve_on_plateau")),
    **dict.fromkeys(("early_stopping", "early_stop"), ("callbacks.early_stopping.patience",)),
    **dict.fromkeys(("smoothing",), ("objective.label_smoothing",)),
    **dict.fromkeys(("clip", "grad_clip", "gradient_clip", "clip_norm", "max_grad_norm"), CLIP),
    **dict.fromkeys(("grad_accum", "accumulate", "gradient_accumulation"), ("trainer.accumulate_grad_batches",)),
    **dict.fromkeys(("eval_every", "val_every", "eval_steps", "valid_freq"), ("trainer.val_check_interval",)),
    **dict.fromkeys(("wd", "l2"), ("optimizer.weight_decay",)),
    **dict.fromkeys(("tied", "tie", "tie_weights"), ("model.tied_embeddings", "model.tied_target_embeddings")),
    **dict.fromkeys(("log_every", "log_interval"), ("trainer.log_every_n_steps",)),
    **dict.fromkeys(("output", "out", "output_dir", "out_dir", "save_dir", "run_dir", "dir"), ("hydra.run.dir", "to")),
    **dict.fromkeys(("checkpoint", "ckpt", "model_path", "load", "run"), ("run", "runs", "resume")),
    **dict.fromkeys(("src", "ref", "hyp", "reference", "target"), ("reference", "target", "source")),
}
"""What newcomers write, and the options or choices of ours that mean it, where a command has them."""


def names_of(config: DictConfig) -> dict[str, Any]:
    """All options of a configuration by dotted name, with their values as they are written."""
    values: dict[str, Any] = {}

    def add(node: Mapping[Any, Any], path: str) -> None:
        for key, value in node.items():
            if not str(key).startswith("_"):
                values[f"{path}{key}"] = value
                if isinstance(value, Mapping):
                    add(value, f"{path}{key}.")

    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, Mapping)
    add(plain, "")
    return values


def meant(name: str, config: DictConfig) -> str:
    """The end of a message that says which options of ``config`` the unknown ``name`` may mean; or nothing."""
    options = _meant(name, config)
    return f"; did you mean {_either(options)}?" if options else ""


def _meant(name: str, config: DictConfig) -> list[str]:
    where, _, word = name.rpartition(".")
    word = word.lower().replace("-", "_")
    known = names_of(config)
    options = [option for option in WORDS.get(word, ()) if _is_there(option, known)]
    options = [option for option in options if "=" not in option] or options
    ending = [
        option
        for option, value in known.items()
        if option.endswith(f".{word}") and "${" not in str(value) and not option.startswith(("hydra.", "choices."))
    ]
    options = options or ending
    inside = [option for option in options if option.startswith(f"{where}.")] if where else []
    return inside or options


def _is_there(option: str, known: Collection[str]) -> bool:
    """Whether a configuration has an option; for a choice, whether it has the group; for hydra's, whether it trains."""
    if option.startswith("hydra."):
        return "resume" in known
    group, choice, _ = option.partition("=")
    return (group in known or (group == "hardware" and "trainer" in known)) if choice else option in known


def _either(options: Sequence[str]) -> str:
    *most, last = options
    return f"{', '.join(most)} or {last}" if most else last


SEVERAL = ("callbacks", "experiment", "logger")
"""Groups of which several choices may be given, as a list."""
SHORT = re.compile(r"(-\w[\w.]+)=")
"""An option with a dash, of which Hydra may take the first letter for a flag of its own."""
EMPTY = ("hydra.run.dir=", "sweep.dir=", "hydra.sweep.dir=")
"""What a variable of the shell that is not set leaves; for Hydra it is the current folder."""


def check_words(command: str, reads: bool, arguments: Sequence[str]) -> None:
    """UserError: a word of the command line that is no option. reads: the command reads standard input."""
    given, flags = parsed(arguments)
    for word in flags:
        if not word.startswith("-"):  # Hydra reads options only before or after its own flags, not on both sides
            flag = next((argument for argument in arguments if argument.startswith("-")), "-m")
            raise UserError(f"{word}: put {flag}, and all that begins with a dash, before the options")
        raise UserError(_dashed(command, word))
    if given.resolve and given.cfg is None:
        raise UserError("--resolve: it shows values only with --cfg: --cfg job --resolve")
    if given.experimental_rerun is not None:
        raise UserError("--experimental-rerun: the file could run any code; train.py reproduce=RUN trains a run again")
    if given.shell_completion:
        check_completion("".join(given.overrides))
    for number, word in enumerate(given.overrides):
        if re.fullmatch(r"hydra\.verbose=(null|[\d.+-]*)", word):  # Hydra would fail before it could say why
            raise UserError(f"{word}: give true, false or the name of a logger")
        if word.startswith("="):
            raise UserError(f"{word}: options are name=value, and this has no name")
        if word in EMPTY:
            raise UserError(f"{word}: give a folder, or omit it")
        if re.fullmatch(r"[\w/]+=\[[\d., +-]+\]", word) and word.partition("=")[0] in _known(command)[0]:
            raise UserError(f"{word}: a choice is a name, such as model=cgru")
        if "=" not in word and not word.startswith("~"):
            if number and _unclosed(given.overrides[number - 1]):
                raise UserError(_unquoted(given.overrides[number - 1 :]))
            raise UserError(f"{word}: {_no_option(command, reads, word, ''.join(given.overrides[number + 1 :][:2]))}")


def parsed(arguments: Sequence[str]) -> tuple[Namespace, list[str]]:
    """What Hydra's flags and our options are in the ``arguments`` of a command, and the words that are neither.

    UserError: a flag without its value, or with a wrong one, for which Hydra prints its usage.
    """
    parser: Any = get_args_parser()

    def error(message: str) -> None:
        raise UserError(re.sub(r"^argument ([^/:]+)[^:]*", r"\1", message))

    parser.error = error
    flags = set(parser._option_string_actions)
    # of -patience=3 the parser would read -p, with atience=3
    dashed = [word for word in arguments if (name := SHORT.match(word)) and name[1] not in flags]
    given, unknown = parser.parse_known_args([word for word in arguments if word not in dashed])
    return given, [*dashed, *unknown]


def check_completion(request: str) -> None:
    """UserError if what follows -sc is nothing that Hydra can do."""
    if not re.fullmatch(r"(install|uninstall|query)=(bash|fish|zsh)", request):
        raise UserError(f"-sc {request}".rstrip() + ": give install=bash, install=fish or install=zsh")


def _dashed(command: str, word: str) -> str:
    name, sign, value = word.lstrip("-").replace("-", "_").partition("=")
    _, config = _known(command)
    near = "" if name in names_of(config) else meant(name, config)
    return f"{word}: options have no dashes: write {name}={value if sign else '...'}{near}"


def _unclosed(text: str) -> bool:
    return any(text.count(begin) > text.count(end) for begin, end in ("{}", "[]"))


def _unquoted(words: Sequence[str]) -> str:
    """What the shell has split at spaces, since it was not in quotes: baseline={attention: bahdanau}."""
    whole, *rest = words
    while rest and _unclosed(whole):
        whole += f" {rest.pop(0)}"
    return f"{whole}: put it in quotes, as it has spaces: '{whole}'"


def _no_option(command: str, reads: bool, word: str, following: str = "") -> str:
    groups, config = _known(command)
    known = names_of(config)
    if following.startswith("="):
        return f"write options without spaces: {word}={following[1:] or '...'}"
    if chosen := [f"{group}={word}" for group, offered in groups.items() if word in offered]:
        return f"options are name=value; did you mean {_either(chosen)}?"
    if word in groups or word in known:
        return f"options are name=value: {word}=..."
    if near := meant(word, config):
        return f"options are name=value{near}"
    if os.path.isfile(os.path.join(word, "config.yaml")):
        runs = [option for option in ("run", "runs", "resume") if option in known]
        return f"options are name=value; did you mean {_either([f'{option}={word}' for option in runs])}?"
    if reads and os.path.isfile(word):
        return f"options are name=value; a text comes from standard input: < {word}"
    choices = {choice: group for group, offered in groups.items() for choice in offered}
    if close := closest(word, choices, cutoff=0.7):
        return f"options are name=value; did you mean {choices[close]}={close}?"
    return "options are name=value; --help lists them"


def _known(command: str) -> tuple[dict[str, list[str]], DictConfig]:
    """The groups of a command with their choices, and its configuration."""
    from unrolled.configuration.meanings import composed

    with composed(command, ()) as (loader, config):
        chosen = [str(group) for group in config.hydra.runtime.choices if not str(group).startswith("hydra/")]
        return {group: loader.get_group_options(group) for group in chosen}, config


def no_such_choice(word: str, group: str) -> str:
    """A line for the ``word`` that chooses one of a ``group`` which the command does not have."""
    return f"{word}: this command has no choice of {group}; --help shows which it has"


def no_such_option(name: str, node: DictConfig) -> str:
    """A line for the unknown option ``name``, whose last part is not in ``node``, part of a configuration."""
    word, config = name.rpartition(".")[2], node._get_root()
    assert isinstance(config, DictConfig)
    known = [str(key) for key in node if key != "hydra"]
    if (dotted := name.replace("/", ".")) != name and dotted in names_of(config):
        return f"{name}: only choices have a /: write {dotted}=..."
    near = _meant(name, config)
    if owners := choices_with(name, config):
        near = [option for option in near if option.startswith(f"{name.rpartition('.')[0]}.")]
        instead = f"; did you mean {_either(near)}?" if near else ""
        return f"{name}: there is no such option here: it belongs to {_either(owners)}{instead}"
    return f"{name}: there is no such option{meant(name, config) or nearest(word, known)}"


def unreadable(override: str) -> str:
    """A line for an option whose value Hydra cannot read."""
    name, _, value = override.partition("=")
    if " " in name or value.startswith(" "):
        return f"{override}: write options without spaces: {name.strip()}={value.strip()}"
    if "/" in name and "." in name.rpartition("/")[2]:
        return f"{override}: only choices have a /: write {name.replace('/', '.')}={value}"
    if value.startswith(("[", "{")):
        items = value[1:-1].split(",")
        if re.fullmatch(r"\[[^][{}\"'\\]+\]", value) and all(item.strip() for item in items):
            quoted = ",".join(f'"{item.strip()}"' for item in items)
            return (
                f"{override}: this cannot be read; if it is a list of texts, quote each text too: '{name}=[{quoted}]'"
            )
        form = "[1,2]" if value.startswith("[") else "{name: 1}"
        text = ', and a text with brackets, commas or quotes in it as "text"' if re.search(r"[^\W\d]", value) else ""
        return f"{override}: this cannot be read; lists and groups are written '{name}={form}', in quotes{text}"
    if (function := re.match(r"(\w+)\(.*\)$", value)) and (near := closest(function[1], FUNCTIONS)) is not None:
        return f"{override}: there is no function {function[1]}; did you mean {near}?"
    quoted = re.sub(r"([\\\"])", r"\\\1", value)
    return f"""{override}: the value cannot be read; if it is text, quote it twice: '{name}="{quoted}"'"""
