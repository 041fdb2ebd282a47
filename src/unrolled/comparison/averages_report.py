"""The files of a comparison over several data sets: comparison.{md,csv,html} and significance.csv."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unrolled.comparison import tables
from unrolled.comparison.averages import Averages, System
from unrolled.comparison.document import Block, Heading, Paragraph, Table, fragment, html, markdown
from unrolled.comparison.groups import Measure, Spread
from unrolled.comparison.report import OPTIONAL, TITLE, Written, as_text
from unrolled.comparison.tables import Pairs, Rows
from unrolled.comparison.varied_options import ABSENT
from unrolled.files import write_text

ABOUT = (
    "The average is over {count} values of {over}, each with the same weight, of one seed at a time: mean over the "
    "seeds ± sample standard deviation (n - 1). Rates in percent. Best in bold."
)
P_VALUES = (
    "p: for the difference of the average word error rate from that of {baseline}, two-sided, by paired bootstrap and "
    "approximate randomisation of the lines within each test set, each seed against the same seed; with several seeds "
    "the largest."
)


def write_averages(folder: Path, averages: Averages, pairs: Pairs, notices: Sequence[str]) -> Written:
    """Write the files to ``folder``, with ``notices`` for the reader; returns what is in them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in OPTIONAL:
        (folder / name).unlink(missing_ok=True)  # from another comparison
    summary = _summary(averages, pairs)
    about = ABOUT.format(count=len(averages.names), over=averages.over)
    blocks: list[Block] = [summary, Paragraph(about)]
    shown = as_text(summary)
    if pairs and averages.baseline is not None:
        blocks.append(Paragraph(P_VALUES.format(baseline=averages.baseline.label)))
        write_text(folder / "significance.csv", tables.comma_separated(tables.test_rows(pairs)))
    for measure in averages.measures:
        table = _by_set(averages, measure)
        blocks += [Heading(measure.title), table]
        shown += f"\n{measure.title}\n" + as_text(table)
    if notices:
        blocks += [Heading("Notes"), *map(Paragraph, notices)]
    rows = _rows(averages)
    write_text(folder / "comparison.csv", tables.comma_separated(rows))
    write_text(folder / "comparison.md", markdown(TITLE, blocks))
    write_text(folder / "comparison.html", html(TITLE, blocks))
    return Written(shown, rows, tables.test_rows(pairs), [], fragment(blocks))


def _summary(averages: Averages, pairs: Pairs) -> Table:
    """A row for each system: the averages, and p-values of the first measure that has them."""
    names = [*averages.systems[0].values] or ["system"]
    measures = averages.measures
    p_values = list(tables.P_VALUES) if pairs else []
    head = [*names, "runs", *(measure.title for measure in measures), *(tables.P_VALUES[kind] for kind in p_values)]
    rows, bold = [], set()
    for number, system in enumerate(averages.systems):
        row = [*system.values.values()] or [system.label]
        row.append(f"{len(averages.names)} x {len(system.seeds(averages.names))}")
        for measure in measures:
            if _is_best(system, averages, measure):
                bold.add((number, len(row)))
            row.append(_shown(system.average(averages.names, measure.name), measure))
        for kind in p_values:
            p = tables.p_value(pairs, system.label, kind, "test/word_error_rate")
            mine = "baseline" if kind == p_values[0] else ""
            row.append(mine if system is averages.baseline else f"{p:.4f}" if isinstance(p, float) else p or ABSENT)
        rows.append(row)
    return Table(head, rows, left=len(names), bold=frozenset(bold))


def _by_set(averages: Averages, measure: Measure) -> Table:
    """A row for each data set, then the average; a column for each system."""
    systems = averages.systems
    rows = [[name, *(_shown(system.on(name, measure.name), measure) for system in systems)] for name in averages.names]
    rows.append(["average", *(_shown(system.average(averages.names, measure.name), measure) for system in systems)])
    return Table([averages.over, *(system.label for system in systems)], rows)


def _is_best(system: System, averages: Averages, measure: Measure) -> bool:
    learnt = [system for system in averages.systems if not system.all_stuck(averages.names)]
    means = [spread.mean for system in learnt if (spread := system.average(averages.names, measure.name))]
    if system not in learnt or not averages.comparable(measure):
        return False
    mine = system.average(averages.names, measure.name)
    best = min(means) if measure.better < 0 else max(means)
    return len(means) > 1 and mine is not None and mine.mean == best


def _shown(spread: Spread | None, measure: Measure) -> str:
    if spread is None:
        return ABSENT
    return measure.shown(spread.mean) + ("" if spread.deviation is None else f" ± {measure.shown(spread.deviation)}")


def _rows(averages: Averages) -> Rows:
    """In full precision: a row for each system and data set, and for the average."""
    rows: Rows = []
    for system in averages.systems:
        for name in [*averages.names, None]:
            row: dict[str, Any] = {**system.values, averages.over: name or "average"}
            for measure in averages.measures:
                of = measure.name
                spread = system.average(averages.names, of) if name is None else system.on(name, of)
                mean, deviation = spread or (None, None)
                row |= {f"{of} mean": mean, f"{of} standard deviation": deviation}
            rows.append(row)
    return rows
