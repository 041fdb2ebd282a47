"""The results of a comparison, as tables and as comma-separated values."""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from unrolled.comparison.budgets import CLOCKS, Equal
from unrolled.comparison.document import Table
from unrolled.comparison.groups import MEASURES, Comparison, Group, Measure
from unrolled.comparison.translated import Sentence
from unrolled.comparison.varied_options import ABSENT
from unrolled.metrics.bands import Band
from unrolled.metrics.interaction import Interaction
from unrolled.metrics.seed_significance import SystemDifference
from unrolled.metrics.significance import PairedScores

Pairs = Mapping[str, Mapping[Any, Mapping[str, PairedScores]]]
"""By group label and seed: "bleu" and "chrf" of that run, compared with the baseline's run of the same seed."""
Differences = Mapping[str, SystemDifference]
"""By group label: its score compared with the baseline's over seeds and sentences."""
P_VALUES = {"bootstrap": "p (bootstrap)", "randomization": "p (randomisation)"}
SCORED = {measure.name.removeprefix("test/"): measure.title for measure in MEASURES}
MIXED = "mixed"
"""Instead of a p-value: better than the baseline with one seed, worse with another."""


def summary(comparison: Comparison, pairs: Pairs) -> Table:
    """A row per group: options, runs, mean ± standard deviation of each figure that any group has, p-values."""
    measures = [measure for measure in MEASURES if any(group.spread(measure.name) for group in comparison.groups)]
    names = list(comparison.groups[0].values)
    head = [
        *(names or ["group"]),
        "runs",
        *(measure.title for measure in measures),
        *(P_VALUES.values() if pairs else ()),
    ]
    rows, bold = [], set()
    for number, group in enumerate(comparison.groups):
        rows.append([*(group.values.values() if names else [group.label]), _runs(group)])
        for measure in measures:
            if any(group is best for best in comparison.best(measure)):
                bold.add((number, len(rows[-1])))
            rows[-1].append(_spread(group, measure))
        if pairs:
            p_values = [p_value(pairs, group.label, kind) for kind in P_VALUES]
            shown = [f"{p:.4f}" if isinstance(p, float) else p or ABSENT for p in p_values]
            rows[-1] += ["baseline", ""] if group is comparison.baseline else shown
    return Table(head, rows, left=max(1, len(names)), bold=frozenset(bold))


def _runs(group: Group) -> str:
    """The number of runs, and how many of them learnt only word frequencies."""
    stuck = len(group.stuck())
    return f"{len(group.runs)}" + (f" ({stuck} at the unigram level)" if stuck else "")


def _spread(group: Group, measure: Measure) -> str:
    spread = group.spread(measure.name)
    if spread is None:
        return ABSENT
    constant = spread.deviation is None or (measure.better == 0 and spread.deviation == 0)
    return measure.shown(spread.mean) + ("" if constant else f" ± {measure.shown(spread.deviation or 0.0)}")


def metrics_of(pairs: Pairs) -> list[str]:
    """What was tested, the main figure first."""
    return [*next(iter(next(iter(pairs.values())).values()))] if pairs else []


def p_value(pairs: Pairs, label: str, kind: str, metric: str | None = None) -> float | str | None:
    """The largest p over a group's seeds, so that below 0.05 each of its runs differs; MIXED; None without a pair.

    Berger 1982, "Multiparameter Hypothesis Testing and Acceptance Sampling": to claim several differences together at a
    level, each is tested at that level, whether or not the tests depend on each other. metric: by default the main one.
    """
    metric = metric or next(iter(metrics_of(pairs)), "bleu")
    scores = [by_metric[metric] for by_metric in pairs.get(label, {}).values()]
    if not scores:
        return None
    if min(pair.difference for pair in scores) < 0 < max(pair.difference for pair in scores):
        return MIXED
    return max(float(getattr(pair, kind)) for pair in scores)


def tests(pairs: Pairs) -> Table:
    """A row per pair of runs."""
    names = [SCORED[metric.removeprefix("test/")] for metric in metrics_of(pairs)]
    head = ["group", "seed", *(column for name in names for column in (name, "difference", *P_VALUES.values()))]
    rows = []
    for label, seeds in pairs.items():
        for seed, scores in seeds.items():
            rows.append([label, str(seed)])
            for pair in scores.values():
                rows[-1] += [f"{pair.score:.2f}", f"{pair.difference:+.2f}"]
                rows[-1] += [f"{pair.bootstrap:.4f}", f"{pair.randomization:.4f}"]
    return Table(head, rows)


def differences(compared: Differences, groups: Sequence[Group], score: str) -> Table:
    """A row per system that was compared with the baseline over several seeds."""
    head = ["group", "runs", f"difference in {score}", "95 % interval", "p (seeds and sentences)", "detectable"]
    runs = {group.label: len(group.runs) for group in groups}
    rows = []
    for label, one in compared.items():
        rows.append([label, f"{runs[label]}", f"{one.difference:+.2f}", f"[{one.lower:+.2f}, {one.upper:+.2f}]"])
        rows[-1] += [f"{one.p:.4f}", f"{one.detectable:.2f}"]
    return Table(head, rows)


def interactions(by_label: Mapping[str, Interaction], score: str, shorter: str, longer: str) -> Table:
    """A row per system: what it gains on shorter and on longer sources, and the difference."""
    head = ["group", f"gain in {score}, {shorter}", f"gain, {longer}", "difference", "95 % interval", "p"]
    rows = []
    for label, interaction in by_label.items():
        gains = (f"{gain:+.2f}" for gain in (interaction.other, interaction.chosen, interaction.difference))
        rows.append([label, *gains, f"[{interaction.lower:+.2f}, {interaction.upper:+.2f}]", f"{interaction.p:.4f}"])
    return Table(head, rows)


def budgets(equal: Equal, baseline: str) -> Table:
    """A row per system: what it reached in all, in as many updates and in as much time as the baseline."""
    measure = next((one for one in MEASURES if one.name.partition("/")[2] == equal.monitor.partition("/")[2]), None)
    measure = measure or Measure(equal.monitor, equal.monitor, 0)
    processor = "CPU " if equal.clock == CLOCKS[0] else ""
    head = ["group", "updates", f"{processor}seconds", f"validation {measure.title}"]
    head += [f"in the updates of {baseline}", f"in the time of {baseline}"]
    rows = []
    for label, one in equal.by_label.items():
        values = (ABSENT if math.isnan(value) else measure.shown(value) for value in one[2:])
        seconds = ABSENT if math.isnan(one.seconds) else f"{one.seconds:,.0f}"
        rows.append([label, f"{one.updates:,.0f}", seconds, *values])
    return Table(head, rows)


def by_number(bands: Mapping[str, Sequence[Band]], label: str) -> Table:
    """The points of a figure: a row per group of sentences, with score and band of each system."""
    rows = []
    for at in zip(*bands.values(), strict=True):
        scores = [f"{band.score:.2f} [{band.lower:.2f}, {band.upper:.2f}]" for band in at]
        rows.append([at[0].interval, str(at[0].sentences), *scores])
    return Table([label, "sentences", *bands], rows)


def sentence(example: Sentence) -> Table:
    """One test sentence: source, reference, and each group's translation."""
    rows = [["source", example.source, ""], ["reference", example.reference, ""]]
    rows += [[label, text, f"{chrf:.1f}"] for label, (text, chrf) in example.translations.items()]
    return Table([f"line {example.line}", "", "chrF"], rows, left=2, prose=True)


Rows = list[dict[str, Any]]


def group_rows(comparison: Comparison, pairs: Pairs, compared: Differences, score: str) -> Rows:
    """All figures in full precision, named as in results.json: a row per group, then one for each omitted run."""
    names = list(comparison.groups[0].values)
    rows: Rows = []
    for group in comparison.groups:
        row: dict[str, Any] = {**group.values, "status": "completed", "runs": len(group.runs)}
        row["seeds"] = " ".join(str(run.seed) for run in group.runs)
        row["folders"] = "; ".join(str(run.folder) for run in group.runs)
        for measure in MEASURES:
            mean, deviation = group.spread(measure.name) or (None, None)
            row |= {f"{measure.name} mean": mean, f"{measure.name} standard deviation": deviation}
        for metric in metrics_of(pairs) or ("bleu", "chrf"):
            row |= {
                f"{metric.removeprefix('test/')} p {kind}": p_value(pairs, group.label, kind, metric)
                for kind in P_VALUES
            }
        over_seeds = (
            compared[group.label]._asdict() if group.label in compared else dict.fromkeys(SystemDifference._fields)
        )
        row |= {f"{score} over seeds {name}": value for name, value in over_seeds.items()}
        rows.append(row)
    empty = dict.fromkeys(rows[0])
    for run, why in comparison.left_out:
        facts = {"status": why, "runs": "", "seeds": run.seed, "folders": str(run.folder)}
        rows.append(empty | dict.fromkeys(names, "") | facts)
    return rows


def test_rows(pairs: Pairs) -> Rows:
    """`tests` in full precision, a row for each metric."""
    return [
        {"group": label, "seed": seed, "metric": metric, **scores._asdict()}
        for label, seeds in pairs.items()
        for seed, metrics in seeds.items()
        for metric, scores in metrics.items()
    ]


def band_rows(bands: Mapping[str, Sequence[Band]], what: str, score: str) -> Rows:
    """`by_number` in full precision, a row for each system and group of sentences."""
    return [
        {"by": what, "of": score, "group": label, **band._asdict()}
        for label, of_label in bands.items()
        for band in of_label
    ]


def comma_separated(rows: Rows) -> str:
    """``rows`` with a head."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return text.getvalue()
