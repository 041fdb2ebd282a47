"""Which options vary between runs: the few of a configuration's hundreds that a user would name.

Two runs that differ in any option differ in at least one listed option: groups are never too coarse.
"""

from collections.abc import Sequence
from typing import Any

from unrolled.runs.folder import Run

ABSENT = "–"
"""Shown for an option that a run does not have."""
TARGET = "._target_"
CHOICE = "choices."
OF_THE_RUN = (
    *("seed", "run_folder", "resume", "reproduce", "name", "logger", "cache", "overrides"),
    *("data.module.seed", "data.module.cache", "callbacks.attention_record.name", "callbacks.pictures.name"),
)
OF_THE_PROGRAM = ("sweep.", "logger.", "hydra.")
TEXT = "text."
COPIES = ("data.module.", "data.corpus.", TEXT)
"""Built by conf/data from other options, or determined by them."""
BUNDLES = frozenset({"experiment", "debug", "sweep"})
"""Groups that set any other option; a configuration has them only among the words of its command."""


def shown(value: Any) -> str:
    """The value as typed on the command line: null, true, 0.001."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{','.join(map(shown, value))}]" if isinstance(value, list) else str(value)


def title(option: str) -> str:
    """The name shown for an option: the group's name for a choice."""
    if option.startswith(TEXT):
        return f"{option.removeprefix(TEXT)} text"
    return option.removeprefix(CHOICE).removesuffix(TARGET)


def titles(options: Sequence[str]) -> list[str]:
    """The names shown for options of one table, which all differ.

    Where several have one `title`, such as a choice and the class that was put in its place, one keeps it: the option
    that is called so, or else the first, a choice. The others have their full names.
    """
    names = [title(option) for option in options]
    keeps = {name: name if name in options else options[names.index(name)] for name in names}
    return [name if keeps[name] == option else option for option, name in zip(options, names, strict=True)]


def value_of(run: Run, option: str) -> str:
    """The value of an option as shown; for a class its name, for a text the beginnings of SHA-256."""
    if option.startswith(TEXT):
        source, target, links = _files(run, option)
        hashes = [source, target] if links is None else [source, target, links]
        return " ".join(ABSENT if sha256 is None else sha256[:7] for sha256 in hashes)
    if option not in run.options:
        return ABSENT
    value = shown(run.options[option])
    return value.rpartition(".")[2] if option.endswith(TARGET) else value


def identity(run: Run, name: str) -> str:
    """What distinguishes values: unlike `value_of` the complete value; 0 equals 0.0, but not "0"."""
    if name.startswith(TEXT):
        return repr(_files(run, name))
    if name not in run.options:
        return ABSENT
    value = run.options[name]
    return repr(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _files(run: Run, option: str) -> list[str | None]:
    """SHA-256 of source, target and known word links of a text; None for what it does not have."""
    return [run.sha256.get(f"{option.removeprefix(TEXT)}.{side}") for side in ("source", "target", "alignment")]


def varied(runs: Sequence[Run]) -> list[str]:
    """The options in which ``runs`` differ, except the seed, choices first.

    An option is dropped if its values are a function of those already kept that may explain it, see `_may_explain`. A
    test, training or validation text that changed, or its known links, although no option did counts as an option.
    """
    options = dict.fromkeys(name for run in runs for name in run.options if not _ignored(name))
    options |= dict.fromkeys(f"{TEXT}{split}" for split in ("test", "train", "val"))
    columns = {name: tuple(identity(run, name) for run in runs) for name in options}
    columns = {name: column for name, column in columns.items() if len(set(column)) > 1}
    named = frozenset[str]().union(*(run.named or () for run in runs))
    bundles = {_bundles(run) for run in runs}
    known = len(bundles) == 1 and None not in bundles

    kept: list[str] = []
    for name in sorted(columns, key=lambda name: (_rank(name, named), name.count("."))):
        above = [columns[other] for other in kept if _may_explain(other, name, named, known=known)]
        if not _follows(columns[name], above):
            kept.append(name)
    return kept


def _bundles(run: Run) -> tuple[str, ...] | None:
    """The bundles that ``run`` was given, such as experiment=g2p; None if that is not known."""
    if run.named is None or not run.named & BUNDLES:
        return None if run.named is None else ()
    words = run.options.get("overrides")
    return tuple(word for word in map(str, words) if _is_bundle(word)) if isinstance(words, list) else None


def _is_bundle(word: str) -> bool:
    return word.partition("=")[0].lstrip("+") in BUNDLES


def _may_explain(other: str, name: str, named: frozenset[str], *, known: bool) -> bool:
    """Whether the option ``name`` may have its value because ``other`` has its own.

    Nothing explains a choice, and an option named when a run began is explained only by the choice of the same name.
    Choices and named options explain any other option; but if it is not known what was named, or the runs may be of
    different experiments, a choice explains only the options inside it. Any option explains what is built from others.
    """
    if name.startswith(CHOICE):
        return False
    if title(name) in named:
        return title(other) == title(name)
    chosen = other.startswith(CHOICE) or other.endswith(TARGET)
    inside = chosen and name.startswith(f"{title(other)}.")
    return name.startswith(COPIES) or inside or (known and (chosen or title(other) in named))


def _ignored(name: str) -> bool:
    return name in OF_THE_RUN or name.startswith(OF_THE_PROGRAM)


def _rank(name: str, named: frozenset[str]) -> int:
    """Options that explain others come first."""
    if name.startswith(COPIES):
        return 4
    return 0 if name.startswith(CHOICE) else 1 if name.endswith(TARGET) else 2 if title(name) in named else 3


def _follows(column: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether the values of ``column`` are a function of those of ``others`` (never if there are none: it varies)."""
    return len(set(zip(*others, column))) == len(set(zip(*others))) if others else False
