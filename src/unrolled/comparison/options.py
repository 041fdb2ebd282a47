"""Which options a set of runs varies: of a configuration's hundreds those that a user would name.

Runs that differ in an option that is not named here differ in one that is named, too: groups are never too coarse.
"""

from collections.abc import Sequence
from typing import Any

from unrolled.runs.folder import Run

ABSENT = "–"
"""How the value of an option is shown that a run does not have."""
TARGET = "._target_"
CHOICE = "choices."
OF_THE_RUN = (
    *("seed", "run_folder", "resume", "reproduce", "name", "logger", "cache"),
    *("data.module.seed", "data.module.cache", "callbacks.attention_record.name"),
)
OF_THE_PROGRAM = ("sweep.", "logger.", "hydra.")
TEXT = "text."
COPIES = ("data.module.", "data.corpus.", TEXT)
"""Built by conf/data from other options, or read because of them."""
BUNDLES = frozenset({"experiment", "debug", "sweep"})
"""Groups that set any other option, and that the configuration does not record."""


def shown(value: Any) -> str:
    """As one would type it: null, true, 0.001."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"[{','.join(map(shown, value))}]" if isinstance(value, list) else str(value)


def title(option: str) -> str:
    """The name that stands for an option: the group's for what was chosen in it."""
    if option.startswith(TEXT):
        return f"{option.removeprefix(TEXT)} text"
    return option.removeprefix(CHOICE).removesuffix(TARGET)


def value_of(run: Run, option: str) -> str:
    """The value of an option as it is shown; of a class its name, of a text the beginnings of SHA-256."""
    if option.startswith(TEXT):
        split = option.removeprefix(TEXT)
        return " ".join(run.sha256.get(f"{split}.{side}", ABSENT)[:7] for side in ("source", "target"))
    if option not in run.options:
        return ABSENT
    value = shown(run.options[option])
    return value.rpartition(".")[2] if option.endswith(TARGET) else value


def identity(run: Run, name: str) -> str:
    """What tells values apart: unlike `value_of` the whole of it; 0 is 0.0, and not "0"."""
    if name.startswith(TEXT):
        return repr([run.sha256.get(f"{name.removeprefix(TEXT)}.{side}") for side in ("source", "target")])
    if name not in run.options:
        return ABSENT
    value = run.options[name]
    return repr(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def varied(runs: Sequence[Run]) -> list[str]:
    """The options in which ``runs`` differ, but for the seed, choices first.

    Left out is what follows from others and was not named on a command line: of a group that was chosen the options
    inside it and, of models and data, whatever they set elsewhere; copies of a value that was named. Where a command
    line is unknown, or has experiment=..., only what is inside. A test or training text that changed while no option
    did is one itself.
    """
    options = dict.fromkeys(name for run in runs for name in run.options if not _ignored(name))
    options |= dict.fromkeys(f"{TEXT}{split}" for split in ("test", "train"))
    columns = {name: tuple(identity(run, name) for run in runs) for name in options}
    columns = {name: column for name, column in columns.items() if len(set(column)) > 1}
    named = frozenset[str]().union(*(run.named or () for run in runs))
    elsewhere = all(run.named is not None and not run.named & BUNDLES for run in runs)

    kept: list[str] = []
    for name in sorted(columns, key=lambda name: (_rank(name, named), name.count("."))):
        if name.startswith(CHOICE):
            above = []
        elif title(name) in named:
            above = [each for each in kept if title(each) == title(name)]  # the class of a choice
        elif name.startswith(COPIES):
            above = kept
        else:
            choices = [each for each in kept if each.startswith(CHOICE) or each.endswith(TARGET)]
            above = [each for each in choices if elsewhere or name.startswith(f"{title(each)}.")]
        copied = title(name) not in named and any(
            columns[each] == columns[name] for each in kept if title(each) in named
        )
        if not copied and not _follows(columns[name], [columns[each] for each in above]):
            kept.append(name)
    return kept


def _ignored(name: str) -> bool:
    return name in OF_THE_RUN or name.startswith(OF_THE_PROGRAM)


def _rank(name: str, named: frozenset[str]) -> int:
    """What explains others comes before what it explains."""
    if name.startswith(COPIES):
        return 4
    return 0 if name.startswith(CHOICE) else 1 if name.endswith(TARGET) else 2 if title(name) in named else 3


def _follows(column: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether ``column``'s values are a function of the others' (never of none: it varies)."""
    return len(set(zip(*others, column))) == len(set(zip(*others))) if others else False
