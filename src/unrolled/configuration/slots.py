"""What a run folder's configuration may name, slot by slot: somebody else's file never decides what code runs.

A slot is a place for a ``_target_`` in the configuration, and what is offered there: classes of the
project by name, its subclasses of one base, what this installation's conf/ adds to them, what an installed package
offers by an entry point of the group ``unrolled.<slot>``, and what a package that the user trusts by name defines
(``trust=my_package``). docs/reliability.md says how to make use of it. The user's own command line is not checked.
"""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import Any, NamedTuple

import hydra.utils

from unrolled.configuration.conf import offered_in, targets_of
from unrolled.errors import UserError, nearest


def instantiate(node: Any, **options: Any) -> Any:
    """What a node of a configuration describes. The only way from a ``_target_`` to an object.

    A node from a run folder has passed `check_slots` when it was read.
    """
    return hydra.utils.instantiate(node, **options)


def named(target: str) -> Any:
    """The class or function of that name, from a configuration that the user wrote."""
    return hydra.utils.get_object(target)


class Slot(NamedTuple):
    """What is offered in one place of a configuration.

    offered: dotted names. base: the dotted name of a class; its subclasses in the same room are offered too, and from
    other packages only subclasses.
    """

    name: str
    offered: frozenset[str]
    base: str | None = None


def _slot(name: str, prefix: str = "", *offered: str, base: str | None = None) -> Slot:
    return Slot(name, frozenset(f"{prefix}{class_name}" for class_name in offered), base)


_CORPUS = _slot(
    "corpus",
    "unrolled.data.",
    *(f"corpus.{name}" for name in ("Demo", "Lookup", "MonolingualText", "ParallelText", "Reorder")),
    *("hugging_face.HuggingFace", "tsv.TSV"),
)
_TOKENIZER = _slot("tokenizer", "unrolled.text.", "characters.Characters", "tokenizer.SentencePiece", "tokenizer.Words")
_OURS = "unrolled.training.callbacks."
_CALLBACKS = (
    *(
        f"lightning.pytorch.callbacks.{name}"
        for name in (
            *("DeviceStatsMonitor", "EarlyStopping", "GradientAccumulationScheduler", "LearningRateMonitor"),
            *("ModelCheckpoint", "ModelSummary", "RichModelSummary", "RichProgressBar", "StochasticWeightAveraging"),
            *("TQDMProgressBar", "Timer"),
        )
    ),
    *(
        f"{_OURS}{name}"
        for name in (
            *("attention_record.AttentionRecord", "divergence.StopWhenDiverged", "gradient_norms.GradientNorms"),
            *(
                "kept_weights.KeepWeights",
                "largest_batch.LargestBatchFirst",
                "learning_rate.LearningRate",
                "pictures.Pictures",
                "progress.progress",
                "resumption.Resumption",
                "saving.SaveProgress",
            ),
            *("speed.Speed", "validation_in_checkpoint.ValidationInCheckpoint"),
        )
    ),
)

SLOTS: Mapping[str, Slot] = {
    "attention": _slot(
        "attention",
        "unrolled.models.attention.",
        *("BahdanauAttention", "CoverageAttention", "DotAttention", "GRUAttention", "GeneralAttention"),
        "PooledGRUAttention",
        base="unrolled.models.attention.Attention",
    ),
    "model": _slot(
        "model",
        "unrolled.",
        *("models.translator.translator", "models.language_model.rnn_lm", "models.feedforward_lm.feedforward_lm"),
        "ngram.model.ngram_lm",
    ),
    "model.encoder": _slot(
        "encoder",
        "unrolled.models.encoder.",
        *("BidirectionalGRU", "BidirectionalGRUResetBefore"),
        base="unrolled.models.encoder.Encoder",
    ),
    "model.decoder": _slot(
        "decoder",
        "unrolled.models.decoder.",
        *("BahdanauDecoder", "CGRUDecoder", "MeanContextDecoder", "RNNsearchDecoder"),
        base="unrolled.models.decoder.Decoder",
    ),
    "model.readout": _slot("readout", "unrolled.models.readout.", "DeepReadout", "LinearReadout", "MaxoutReadout"),
    "model.estimator": _slot(
        "estimator",
        "unrolled.ngram.",
        *("additive.AddAlpha", "additive.MaximumLikelihood", "back_off.Absolute", "back_off.Katz"),
        "kneser_ney.KneserNey",
    ),
    "data.module": _slot("data", "unrolled.data.module.", "DataModule"),
    "data.corpus": _CORPUS,
    "data.grammar": _CORPUS,
    "data.demo": _CORPUS,
    "data.lookup": _CORPUS,
    "data.module.corpus": _CORPUS,
    **{f"{where}tokenizer{side}": _TOKENIZER for where in ("", "data.module.") for side in ("", ".source", ".target")},
    "alignment": _slot("alignment", "unrolled.training.alignment_loss.", "Supervision"),
    "alignment.distance": _slot("distance", "unrolled.training.alignment_loss.", "cross_entropy", "squared_error"),
    "objective": _slot(
        "objective",
        "unrolled.training.",
        *("counting.Counting", "language_modeling.LanguageModeling", "translation.Translation"),
    ),
    "optimizer": _slot(
        "optimizer",
        "torch.optim.",
        *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop"),
        *("Rprop", "SGD"),
    ),
    "schedule": _slot(
        "schedule",
        "unrolled.training.schedule.",
        *("constant", "halve_on_plateau", "inverse_square_root", "linear_decay", "warm_up"),
    ),
    **dict.fromkeys(
        ("search", "validation_search"),
        _slot("search", "unrolled.search.", "sampling.Sampling", "settings.BeamSearch", "settings.Greedy"),
    ),
    **dict.fromkeys(
        ("search.length_normalization", "validation_search.length_normalization"),
        _slot("length_normalization", "unrolled.search.length.", "GNMT", "NoNormalization", "PerToken"),
    ),
    "callbacks.*": _slot("callback", "", *_CALLBACKS),
    "logger.*": _slot(
        "logger",
        "unrolled.training.loggers.",
        *(f"{name}.{name}_logger" for name in ("mlflow", "tensorboard", "wandb")),
    ),
    "trainer": _slot("trainer", "lightning.", "Trainer"),
}
"""What is offered in every place where a run folder's configuration may have a ``_target_``, by dotted path."""

TARGET, PARTIAL = "_target_", "_partial_"
DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
PROJECT = "unrolled"

_trusted: list[str] = []


def trust(packages: str | Iterable[str] | None) -> None:
    """From now on, in this process, run folders may name what is defined in ``packages``, and in no others.

    UserError: no name of a package, or the name of Python's own library or of this project.
    """
    if packages is not None and not isinstance(packages, Iterable):  # trust=3
        packages = [str(packages)]
    names = packages.split(",") if isinstance(packages, str) else list(packages or [])
    for name in names:
        if not (isinstance(name, str) and all(word.isidentifier() and not iskeyword(word) for word in name.split("."))):
            raise UserError(f"trust={name}: give the name of a package that you have installed, such as my_package")
        if name.partition(".")[0] in (*sys.stdlib_module_names, *sys.builtin_module_names, PROJECT):
            whose = "this project's own" if name.partition(".")[0] == PROJECT else "Python's own library"
            raise UserError(
                f"trust={name}: this is {whose}, and a run folder may name only the parts of it that unrolled offers"
            )
    _trusted[:] = names


@contextmanager
def trusting(packages: str | Iterable[str] | None) -> Iterator[None]:
    """`trust` during the block; None changes nothing."""
    before = trusted()
    try:
        if packages is not None:
            trust(packages)
        yield
    finally:
        _trusted[:] = before


def trusted() -> list[str]:
    """The packages that run folders may name in this process."""
    return list(_trusted)


def check_slots(config: Any, where: str) -> None:
    """UserError if a plain configuration names what is not offered in its place. ``where``: the file it is from.

    Refused too: interpolations, as a run folder's configuration is resolved text, and Hydra's other words for a node
    (``_args_``, ``_recursive_``, ``_convert_``).
    """
    check_plain(config, where)
    for path, node in _nodes(config, ()):
        if TARGET in node:
            _check_target(path, node[TARGET], where)


def packages_of(config: Any) -> set[str]:
    """The packages of what a plain configuration names beyond what is offered in its place."""
    packages = set()
    for path, node in _nodes(config, ()):
        try:
            if TARGET in node:
                _check_target(path, node[TARGET], "")
        except UserError:
            packages.add(str(node[TARGET]).partition(".")[0])
    return packages


def check_plain(config: Any, where: str) -> None:
    """UserError where a plain configuration holds an interpolation, or a word of Hydra's beyond the two it needs."""
    for path, node in _nodes(config, ()):
        for key, value in node.items():
            here = ".".join((*path, str(key)))
            if isinstance(key, str) and key.startswith("_") and key.endswith("_") and key not in (TARGET, PARTIAL):
                raise UserError(f"{where}: {here} does not belong in a run folder's configuration; delete the line")
            if key == PARTIAL and not isinstance(value, bool):
                raise UserError(f"{where}: {here} is neither true nor false")
            if any("${" in text for text in (key, *_texts(value)) if isinstance(text, str)):
                raise UserError(
                    f"{where}: {here} is an interpolation, ${{...}}; a run folder's configuration is resolved text:"
                    " write the value itself"
                )


def _nodes(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[Any, Any]]]:
    """All mappings within ``node``, with their paths."""
    if isinstance(node, Mapping):
        yield path, node
        for key, value in node.items():
            yield from _nodes(value, (*path, str(key)))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _nodes(value, (*path, str(number)))


def _texts(value: Any) -> Iterator[Any]:
    """The values of lists within lists; mappings come by themselves."""
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield value


def slot_of(path: tuple[str, ...]) -> Slot | None:
    """The slot at ``path``, None where no ``_target_`` has a place."""
    if len(path) == 2 and path[0] in ("callbacks", "logger"):
        return SLOTS[f"{path[0]}.*"]
    return SLOTS.get(".".join(path))


def _check_target(path: tuple[str, ...], target: Any, where: str) -> None:
    here = ".".join(path) or "the file itself"
    if not (isinstance(target, str) and DOTTED.fullmatch(target)):
        raise UserError(f"{where}: {here}: _target_={target!r:.80} is not the name of a class")
    slot = slot_of(path)
    if slot is not None and (target in slot.offered or _is_ours(target, slot) or _is_registered(target, slot)):
        return
    if _is_of_conf(target, path):
        return
    package = next((name for name in _trusted if target.startswith(f"{name}.")), None)
    root = target.partition(".")[0]
    if package is not None and find_spec(root) is not None:
        _check_trusted(target, package, slot, f"{where}: {here}")
        return
    name = slot.name if slot else "class"
    if find_spec(root) is None:
        raise UserError(
            f"{where}: {here}: {target} belongs to the package {root}, which is not installed: pip install "
            f"{root.replace('_', '-')}, or add its folder to PYTHONPATH"
        )
    if root == PROJECT or root in sys.stdlib_module_names:
        mend = nearest(target, sorted(slot.offered)) if slot and root == PROJECT else ""
        raise UserError(f"{where}: {here}: {target} cannot be the {name} of a run folder{mend}")
    raise UserError(
        f"{where}: {here}: {target} cannot be the {name} here, and a run folder never decides what code runs; if you "
        f"wrote the package {root}, or trust it, add trust={root}"
    )


def _is_ours(target: str, slot: Slot) -> bool:
    """Whether ``target`` is a subclass of the slot's base, defined in the base's room."""
    if slot.base is None:
        return False
    room = slot.base.rpartition(".")[0].rpartition(".")[0]
    if not target.startswith(f"{room}."):
        return False
    cls, base = _defined(target), _defined(slot.base)
    return inspect.isclass(cls) and cls is not base and issubclass(cls, base) and _name(cls) == target


def _is_of_conf(target: str, path: tuple[str, ...]) -> bool:
    """Whether a file that was added to conf/ names it in the group that ``path`` begins with."""
    groups = {way.partition(".")[0] for way in SLOTS}
    if not path or path[0] not in groups or any(target in slot.offered for slot in SLOTS.values()):
        return False
    return target in targets_of(path[0])


def _is_registered(target: str, slot: Slot) -> bool:
    """Whether an installed package offers it for this slot by an entry point."""
    return any(entry.value.replace(":", ".") == target for entry in offered_in(f"{PROJECT}.{slot.name}"))


def _check_trusted(target: str, package: str, slot: Slot | None, where: str) -> None:
    """UserError: not defined in ``package``, or no subclass of the slot's base."""
    offered = _defined(target)
    home = getattr(offered, "__module__", None)
    if not callable(offered) or not (home == package or str(home).startswith(f"{package}.")):
        raise UserError(f"{where}: there is no class or function {target} defined in trust={package}")
    if slot is not None and slot.base is not None:
        base = _defined(slot.base)
        if not (inspect.isclass(offered) and issubclass(offered, base)):
            raise UserError(f"{where}: {target} is not a subclass of {slot.base}, as {slot.name} must be")


def _defined(target: str) -> Any:
    """The object of that name in its module, None if there is none. Nothing is called except the module's import."""
    module, _, name = target.rpartition(".")
    try:
        return vars(import_module(module)).get(name)
    except ImportError:
        return None


def _name(cls: Any) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
