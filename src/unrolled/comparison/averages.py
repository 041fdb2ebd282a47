"""Systems compared on several data sets, such as languages: the mean over these, and its spread over seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unrolled.comparison.groups import (
    MEASURES,
    WORD_ERROR_RATE,
    Measure,
    Spread,
    alike,
    distinct,
    is_stuck,
    same_folder,
    spread_of,
)
from unrolled.comparison.report import NOTHING
from unrolled.comparison.varied_options import CHOICE, identity, shown, title, titles, value_of, varied
from unrolled.data.corpus import CorpusText
from unrolled.errors import UserError, nearest
from unrolled.metrics.error_rates import Errors, errors_of_lines
from unrolled.metrics.paired_rates import paired_error_rates
from unrolled.metrics.significance import PairedScores
from unrolled.runs.folder import Run
from unrolled.text.lines import read_lines

AVERAGED = ("test/word_error_rate", "test/symbol_error_rate", "test/bleu", "test/chrf")
"""The figures whose mean over data sets says something."""


@dataclass(frozen=True)
class System:
    """Completed runs that differ only in data set and seed. runs: by the data set's name, then by seed."""

    label: str
    values: Mapping[str, str]
    runs: Mapping[str, Mapping[Any, Run]]

    def on(self, name: str, measure: str) -> Spread | None:
        """The spread of a figure over the seeds of one data set; None where a run has none."""
        return spread_of([run.results.get(measure) for run in self.runs.get(name, {}).values()])

    def all_stuck(self, names: Sequence[str]) -> bool:
        """Whether no run on the data sets ``names`` has learnt anything."""
        return all(is_stuck(run) for name in names for run in self.runs[name].values())

    def seeds(self, names: Sequence[str]) -> list[Any]:
        """The seeds that all data sets ``names`` have."""
        common = set.intersection(*(set(self.runs.get(name, {})) for name in names))
        return sorted(common, key=lambda seed: -1 if seed is None else seed)

    def average(self, names: Sequence[str], measure: str) -> Spread | None:
        """The mean over the data sets ``names``, each with the same weight, and its spread over common seeds."""
        by_seed = [[self.runs[name][seed].results.get(measure) for name in names] for seed in self.seeds(names)]
        return spread_of([None if (of_seed := spread_of(figures)) is None else of_seed.mean for figures in by_seed])


@dataclass(frozen=True)
class Averages:
    """``systems`` on the data sets ``names``, which all of them have; ``over``: the option that names them."""

    over: str
    names: Sequence[str]
    systems: Sequence[System]
    baseline: System | None
    notices: Sequence[str]

    @property
    def measures(self) -> list[Measure]:
        """The measures that every run has."""
        return [
            measure
            for measure in MEASURES
            if measure.name in AVERAGED and all(system.average(self.names, measure.name) for system in self.systems)
        ]

    def comparable(self, measure: Measure, systems: Sequence[System] | None = None) -> bool:
        """Whether all systems, or these, share on each data set what the figure depends on, or do not have it."""
        systems = systems or self.systems
        if len(systems) < 2 or measure not in self.measures:
            return True
        return all(
            alike([system.runs[name][seed] for system in systems for seed in system.seeds(self.names)], measure)
            for name in self.names
        )

    def tests(
        self, text_of: Callable[[Path], CorpusText], *, bootstrap: int, randomization: int
    ) -> dict[str, dict[Any, dict[str, PairedScores]]]:
        """By label and seed, the error rates compared with the baseline's of the same seed, averaged over data sets.

        UserError: translations or test text that are no longer there.
        """
        if self.baseline is None:
            return {}
        by_system: dict[str, dict[Any, dict[str, PairedScores]]] = {}
        for system in self.systems:
            if not self.comparable(WORD_ERROR_RATE, (system, self.baseline)):
                continue
            for seed in self._common_seeds(system):
                if any(is_stuck(either.runs[name][seed]) for either in (system, self.baseline) for name in self.names):
                    continue
                ours, theirs = (
                    [_errors(either.runs[name][seed], text_of) for name in self.names]
                    for either in (system, self.baseline)
                )
                by_system.setdefault(system.label, {})[seed] = paired_error_rates(
                    theirs, ours, bootstrap=bootstrap, randomization=randomization
                )
        return by_system

    def _common_seeds(self, system: System) -> list[Any]:
        if self.baseline is None or system is self.baseline:
            return []
        return [seed for seed in system.seeds(self.names) if seed in self.baseline.seeds(self.names)]

    def without_best(self) -> list[str]:
        """Why no system is the best: texts, signatures or symbols that differ, or are not known, on a data set."""
        return [
            f"{measure.title}: none is the best, as {measure.depends_on} differ or are not known"
            for measure in self.measures
            if not self.comparable(measure)
        ]

    def without_tests(self) -> list[str]:
        """Why systems have no p-values: runs that have learnt nothing, or have no seed or rate like the baseline's."""
        runs = [run for system in self.systems for name in self.names for run in system.runs[name].values()]
        lines = [f"{run.folder}: {NOTHING}" for run in runs if is_stuck(run)]
        if self.baseline is None:
            return lines
        of_rates = f"{WORD_ERROR_RATE.depends_on} are not those of {self.baseline.label}, or not known"
        for system in self.systems:
            if system is self.baseline:
                continue
            if not self._common_seeds(system):
                lines.append(
                    f"{system.label}: no p-value, as it has no seed of {self.baseline.label} on every data set"
                )
            elif not self.comparable(WORD_ERROR_RATE, (system, self.baseline)):
                lines.append(f"{system.label}: no p-value, as {of_rates}")
        return lines


def _errors(run: Run, text_of: Callable[[Path], CorpusText]) -> list[Errors]:
    """The errors of each test line."""
    symbols = run.options.get("data.symbols")
    if not isinstance(symbols, str):
        raise UserError(f"{run.folder}: no p-values, because this run has no error rates: data.symbols is null")
    text = text_of(run.folder)
    if text.fingerprint().get("test.target") != run.fact("test.target"):
        raise UserError(f"{run.folder}: the test text has changed since this run read it; restore the old file")
    lines, references = list(read_lines(run.folder / "translations" / "test.txt")), text.references("test")
    if len(lines) != len(references):
        raise UserError(f"{run.folder}: no p-values: {len(lines)} translations of {len(references)} test sentences")
    return errors_of_lines(lines, references, symbols)


def average(runs: Sequence[Run], over: str, baseline: str | Mapping[str, Any] | None = None) -> Averages:
    """Put runs into systems on data sets, each named by its value of the option ``over``.

    The average is over the data sets that every system has. UserError: no such option, no data set in common, no such
    baseline.
    """
    completed = [run for run in runs if run.status == "completed"]
    notices = [f"{run.folder}: {run.status}; left out" for run in runs if run.status != "completed"]
    if not completed:
        raise UserError("no run has completed, so there is nothing to compare")
    options = varied(completed)
    named = {name for run in completed for name in run.options}
    if over not in named and len(meant := {name for name in named if title(name) == over}) == 1:
        over = meant.pop()  # a column's name, such as attention
    if over not in named:
        raise UserError(f"over={over}: no run has this option{nearest(over, sorted(named))}")
    columns = {name: [identity(run, name) for run in completed] for name in {*options, over}}
    typed = frozenset[str]().union(*(run.named or () for run in completed))
    others = [
        name
        for name in options
        if name != over
        and (name.startswith(CHOICE) or title(name) in typed or not _follows(columns[name], columns[over]))
    ]
    by_options: dict[tuple[str, ...], dict[str, dict[Any, Run]]] = {}
    for run in completed:
        seeds = by_options.setdefault(tuple(identity(run, name) for name in others), {}).setdefault(
            value_of(run, over), {}
        )
        if run.seed in seeds:
            notices.append(
                f"{seeds[run.seed].folder}: repeated by {run.folder}, with the same options and seed; left out"
            )
        seeds[run.seed] = run
    systems: list[System] = []
    for sets in by_options.values():
        systems.append(_system(others, sets, [system.label for system in systems]))
    names = [name for name in systems[0].runs if all(name in system.runs for system in systems)]
    every = list(dict.fromkeys(name for system in systems for name in system.runs))
    if not names:
        raise UserError(
            f"over={over}: no value of this option is common to all compared systems ({', '.join(every)}); name the "
            "one that says which data set a run is of, such as data.language"
        )
    if missing := [name for name in every if name not in names]:
        notices.append(f"not every system has {', '.join(missing)}: the average is over the other {len(names)}")
    for system in systems:
        if len({frozenset(system.runs[name]) for name in names}) > 1:
            notices.append(f"{system.label}: not every data set has the same seeds; the average is over common ones")
        if not system.seeds(names):
            raise UserError(f"{system.label}: no seed has a run on every data set; train the missing runs")
    return Averages(over, names, systems, None if baseline is None else _baseline(systems, baseline), notices)


def _follows(column: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the values of ``column`` are a function of those of ``other``."""
    return len(set(zip(other, column))) == len(set(other))


def _system(others: Sequence[str], sets: Mapping[str, Mapping[Any, Run]], labels: Sequence[str]) -> System:
    """The system with the runs ``sets``; its label is not one of ``labels``."""
    first = next(iter(next(iter(sets.values())).values()))
    values = {name: value_of(first, other) for name, other in zip(titles(others), others, strict=True)}
    label = ", ".join(f"{name.rpartition('.')[2]}={value}" if "." in name else value for name, value in values.items())
    plain = "-".join(value_of(first, f"choices.{group}") for group in ("model", "attention"))
    return System(distinct(label or plain, labels), values, sets)


def _baseline(systems: Sequence[System], wanted: str | Mapping[str, Any]) -> System:
    """The system that ``wanted`` names, as the baseline of groups is named: a run's folder, or options."""
    if isinstance(wanted, str):
        for system in systems:
            if any(same_folder(run.folder, wanted) for of_set in system.runs.values() for run in of_set.values()):
                return system
    if isinstance(wanted, str):
        wanted = dict(option.strip().split("=", 1) for option in wanted.split(",") if "=" in option)
    if not isinstance(wanted, Mapping):
        raise UserError(f"baseline={wanted}: name a run folder, or options such as '{{attention: bahdanau}}'")
    values = {name: shown(value) for name, value in wanted.items()}
    fitting = [system for system in systems if values and values.items() <= system.values.items()]
    if len(fitting) == 1:
        return fitting[0]
    known = "; ".join(", ".join(f"{name}: {value}" for name, value in system.values.items()) for system in systems)
    raise UserError(f"baseline: {len(fitting)} of {len(systems)} systems fit; name one by its options: {known}")
