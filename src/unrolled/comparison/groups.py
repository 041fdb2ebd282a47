"""Groups of runs that differ only in the seed, and their figures."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from unrolled.comparison.varied_options import CHOICE, TARGET, identity, shown, title, titles, value_of, varied
from unrolled.errors import UserError
from unrolled.runs.folder import Run


class Measure(NamedTuple):
    """A figure of results.json.

    better: 1 if higher is better, -1 if lower is, 0 if neither. alike: facts that two runs must have in common for the
    figure to be comparable, see `alike`.
    """

    name: str
    title: str
    better: int
    alike: tuple[str, ...] = ()
    decimals: int = 2
    scale: float = 1.0

    def shown(self, value: float) -> str:
        """The value as the tables show it."""
        return f"{value * self.scale:,.{self.decimals}f}"

    @property
    def depends_on(self) -> str:
        """The facts of `alike`, for a notice."""
        return " or ".join(self.alike)


TEST = ("test.source", "test.target")
LINKS = ("test.alignment", "data.alignment_base")
"""Known only of data with a file of word links."""
MEASURES = (
    Measure("test/bleu", "BLEU", 1, (*TEST, "bleu_signature")),
    Measure("test/chrf", "chrF", 1, (*TEST, "chrf_signature")),
    Measure("test/ter", "TER", -1, (*TEST, "ter_signature")),
    Measure("test/word_error_rate", "WER, %", -1, (*TEST, "data.symbols")),
    Measure("test/symbol_error_rate", "SER, %", -1, (*TEST, "data.symbols")),
    Measure("test/perplexity", "perplexity", -1, ("test.target", "tokenizer.target")),
    Measure("test/aer", "AER, %", -1, (*TEST, *LINKS), scale=100),
    Measure("parameters", "parameters", 0, decimals=0),
    Measure("train/target_tokens_per_second", "tokens/s", 1, decimals=0),
    Measure("peak_memory_mib", "memory, MiB", -1, decimals=0),
)
BLEU, WORD_ERROR_RATE, PERPLEXITY = MEASURES[0], MEASURES[3], MEASURES[5]
PLAIN = re.compile(r"[\w./+-]+|\[[\w./+,-]*\]", re.ASCII)
"""Values that can be typed as they are shown."""


class Spread(NamedTuple):
    """Mean of n runs and their sample standard deviation (n - 1); None for one run."""

    mean: float
    deviation: float | None


def spread_of(figures: Sequence[Any]) -> Spread | None:
    """The spread of ``figures``; None if there are none, or one of them is no finite number."""
    numbers = [float(figure) for figure in figures if isinstance(figure, int | float) and math.isfinite(figure)]
    if not numbers or len(numbers) < len(figures):
        return None
    return Spread(fmean(numbers), stdev(numbers) if len(numbers) > 1 else None)


def is_stuck(run: Run) -> bool:
    """Whether the run has learnt nothing: it never left the unigram level."""
    return run.results.get("left_unigram_level") is False


@dataclass(frozen=True)
class Group:
    """Completed runs with different seeds and the same ``values`` of all compared options."""

    label: str
    values: Mapping[str, str]
    runs: Sequence[Run]

    def spread(self, name: str) -> Spread | None:
        """The spread of a figure; None unless every run has it, as a mean over some would look like one over all."""
        return spread_of([run.results.get(name) for run in self.runs])

    def named(self) -> str:
        """The option that selects this group as the baseline, as typed on the command line."""
        if not self.values or not all(map(PLAIN.fullmatch, self.values.values())):
            return f"baseline={self.runs[0].folder}"
        return "baseline='{" + ", ".join(f"{name}: {value}" for name, value in self.values.items()) + "}'"

    def stuck(self) -> list[Run]:
        """The runs that have learnt nothing."""
        return [run for run in self.runs if is_stuck(run)]

    def by_seed(self) -> dict[Any, Run]:
        """The runs by seed."""
        return {run.seed: run for run in self.runs}


@dataclass(frozen=True)
class Comparison:
    """``groups`` in the order of their runs; ``options`` that distinguish them; runs that are ``left_out``, and why."""

    options: Sequence[str]
    groups: Sequence[Group]
    left_out: Sequence[tuple[Run, str]]
    baseline: Group | None = None

    def best(self, measure: Measure) -> list[Group]:
        """The groups with the best mean, several if equal; none if there is only one or they are not comparable.

        A group of which no run has learnt anything is never among them.
        """
        means = {
            place: spread.mean
            for place, group in enumerate(self.groups)
            if (spread := group.spread(measure.name)) and len(group.stuck()) < len(group.runs)
        }
        if len(means) < 2 or measure.better == 0 or not self.comparable(measure):
            return []
        best = max(measure.better * mean for mean in means.values())
        return [self.groups[place] for place, mean in means.items() if measure.better * mean == best]

    def comparable(self, measure: Measure) -> bool:
        """Whether all groups with the figure share what it depends on, such as the text or the vocabulary."""
        groups = [group for group in self.groups if group.spread(measure.name)]
        return len(groups) < 2 or alike([run for group in groups for run in group.runs], measure)


def alike(runs: Sequence[Run], measure: Measure) -> bool:
    """Whether ``runs`` share all that a figure depends on; what a run does not know, it does not share.

    Runs of which none has a file of word links are alike in these.
    """
    facts = {name: {run.fact(name) for run in runs} for name in measure.alike}
    return all(len(values) == 1 and (name in LINKS or None not in values) for name, values in facts.items())


def compare(runs: Sequence[Run], baseline: str | Mapping[str, Any] | None = None) -> Comparison:
    """Put runs into groups, omitting runs that are not completed, and all but the last with the same options and seed.

    ``baseline`` is the folder of a run in the baseline group, or values of options: see `_baseline`. UserError: no
    completed run, no such baseline.
    """
    left_out = [(run, run.status) for run in runs if run.status != "completed"]
    completed = [run for run in runs if run.status == "completed"]
    if not completed:
        ended = "; ".join(f"{run.folder}: {why}" for run, why in left_out)
        raise UserError(f"no run has completed, so there is nothing to compare ({ended})")
    options = varied(completed)
    members: dict[tuple[str, ...], dict[Any, Run]] = {}
    for run in completed:
        seeds = members.setdefault(tuple(identity(run, option) for option in options), {})
        if run.seed in seeds:
            left_out.append((seeds[run.seed], f"repeated by {run.folder}, with the same options and seed"))
        seeds[run.seed] = run
    groups: list[Group] = []
    for seeds in members.values():
        values = [value_of(next(iter(seeds.values())), option) for option in options]
        label = distinct(_label(options, values, seeds), [group.label for group in groups])
        groups.append(
            Group(label, dict(zip(titles(options), values)), [seeds[seed] for seed in sorted(seeds, key=_number)])
        )
    return Comparison(options, groups, left_out, None if baseline is None else _baseline(groups, baseline, left_out))


def distinct(label: str, others: Sequence[str]) -> str:
    """The label, with an apostrophe for each of ``others`` that is the same: 1 and "1" look alike."""
    while label in others:
        label += "'"
    return label


def _number(seed: Any) -> int:
    return seed if isinstance(seed, int) else -1  # null, or no seed at all


def _label(options: Sequence[str], values: Sequence[str], seeds: Mapping[Any, Run]) -> str:
    """Such as "cgru, gru_att, decoder_size=64": choices by their names only."""
    if not options:
        run = next(iter(seeds.values()))
        return "-".join(value_of(run, f"{CHOICE}{group}") for group in ("model", "attention"))
    last = [title(option).rpartition(".")[2] for option in options]
    names = [title(option) if last.count(name) > 1 else name for name, option in zip(last, options)]
    chosen = [option.startswith(CHOICE) or option.endswith(TARGET) for option in options]
    return ", ".join(value if alone else f"{name}={value}" for name, value, alone in zip(names, values, chosen))


def _baseline(groups: Sequence[Group], wanted: str | Mapping[str, Any], left_out: Sequence[tuple[Run, str]]) -> Group:
    """The group that ``wanted`` names: a run's folder, 'attention=bahdanau,model=cgru' or a mapping of the same."""
    if isinstance(wanted, str):
        matching = [group for group in groups if any(same_folder(run.folder, wanted) for run in group.runs)]
        if matching:
            return matching[0]
        for run, why in left_out:
            if same_folder(run.folder, wanted):
                raise UserError(f"baseline={wanted}: this run was left out: {why}; name another one")
    if isinstance(wanted, str) and "=" not in wanted:
        raise UserError(
            f"baseline={wanted} is not one of the completed runs; name one, or give options, as in {groups[0].named()}"
        )
    if isinstance(wanted, str):
        wanted = dict(option.strip().split("=", 1) for option in wanted.split(",") if "=" in option)
    if not isinstance(wanted, Mapping):
        raise UserError(f"baseline={wanted}: name a run folder, or options as in {groups[0].named()}")
    values = {name: shown(value) for name, value in wanted.items()}
    matching = [group for group in groups if values.items() <= group.values.items()]
    if len(matching) == 1:
        return matching[0]
    asked = ", ".join(f"{name}={value}" for name, value in values.items())
    raise UserError(
        f"baseline: {asked} fits {len(matching)} of {len(groups)} groups; name one by what sets it apart, as in "
        f"{groups[0].named()}"
    )


def same_folder(folder: Path, name: str) -> bool:
    """Whether the folder has that name, seen from here."""
    return folder.resolve() == Path(name).resolve()
