"""The files of a comparison: comparison.{md,csv,html}, other tables, bleu-by-*.{png,pdf} or exact-match-by-*."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from unrolled.comparison import tables
from unrolled.comparison.budgets import equal_budgets
from unrolled.comparison.document import Block, Heading, Paragraph, Picture, Table, fragment, html, markdown
from unrolled.comparison.groups import BLEU, MEASURES, Comparison, Group
from unrolled.comparison.tables import Differences, Pairs, Rows
from unrolled.comparison.translated import Translated
from unrolled.comparison.translations import SCORES
from unrolled.errors import POSITIVE_WHOLE, WHOLE, Numbers, UserError, check, shown
from unrolled.figures.formats import save_figure
from unrolled.files import write_text
from unrolled.metrics.bands import Band, even_edges
from unrolled.metrics.interaction import Interaction
from unrolled.metrics.line_scores import Bleu
from unrolled.metrics.reordering import crossing_share
from unrolled.runs.folder import Run
from unrolled.text.table import table

TITLE = "Comparison of runs"
NOTHING = (
    "has learnt nothing: its lowest validation loss is not 0.1 nats a token below the unigram level, the loss of a "
    "model that knows how often each word occurs and nothing of its context (left_unigram_level in results.json)"
)
SPREAD = (
    "Means over the runs of a group, which differ only in the seed, ± sample standard deviation (n - 1). Best in bold."
)
P_VALUES = (
    "p: for the difference in BLEU from {baseline}, two-sided, by sacreBLEU's paired bootstrap ({bootstrap} resamples) "
    "and approximate randomisation ({randomization} trials), each run against the baseline's run with the same seed. "
    "With several seeds it is the largest, so that p < 0.05 says that each pair differs; {mixed}: better with "
    "one seed, worse with another. It is about other test sentences, not about other seeds, and not corrected for the "
    "number of groups."
)
RATE_P_VALUES = (
    "p: for the difference in word error rate from {baseline}, two-sided, by paired bootstrap ({bootstrap} resamples) "
    "and approximate randomisation ({randomization} trials), each run against the baseline's run with the same seed. "
    "With several seeds it is the largest; {mixed}: better with one seed, worse with another."
)
OVER_SEEDS = (
    "Over seeds: does the mean {score} of a system differ from that of {baseline}, with other seeds and sentences? "
    "Runs and sentences are random effects, in the spirit of Clark et al. 2011; Student's t, two-sided, {bootstrap} "
    "resamples, not corrected for the number of groups. detectable: the smallest true difference that this many runs "
    "would show in four of five experiments."
)
INTERACTION = (
    "Does a system gain more over {baseline} on longer sources? Tested over seeds and sentences, as above, if both "
    "have several runs; otherwise by percentile bootstrap ({bootstrap} resamples) of the sentences on either side, "
    "which says nothing about other seeds. p is two-sided."
)
BUDGETS = (
    "The best validation of a run: in all, within as many updates as {baseline}'s run with the same seed made, and "
    "within the time that it took to train. Validation is not counted as time. Means over seeds that both have."
)
BANDS = (
    "{score} by {what}: for each group of n sentences the mean over runs, and a 95 % confidence "
    "interval by percentile bootstrap ({samples} resamples) over these sentences and, if a system has several runs, "
    "over the runs. For a single run it says nothing about other seeds."
)
LENGTH = "source length ({unit})"
REORDERING = "amount of reordering (share of crossing link pairs)"
FOUND = " A hidden Markov model found the links in training and test text."
OPTIONAL = [
    "significance.csv",
    "interaction.csv",
    "budgets.csv",
    "bands.csv",
    *(f"{of}-by-{what}.{suffix}" for of in SCORES for what in ("length", "reordering") for suffix in ("png", "pdf")),
]
RESAMPLES = Numbers(least=2, whole=True)
"""How many there may be: a single one has no variance."""
LENGTHS = (1, 2, 5, 10, 20, 50)
SHARES = (0.02, 0.05, 0.1, 0.2)


class Written(NamedTuple):
    """What is in the files of a comparison: rows are dictionaries, in full precision."""

    text: str
    """The tables for a terminal."""
    groups: Rows
    """comparison.csv"""
    tests: Rows
    """significance.csv"""
    by_number: Rows
    """bands.csv: BLEU, or exact match, by length and reordering."""
    fragment: str
    """comparison.html, without its style."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Writes the files of a comparison.

    bootstrap: resamples for tests and bands; randomization: trials; sentences: how many of the worst and of the best
    are shown; edges: the smallest source lengths of the groups by length, None for groups of equal width; longer_than:
    the longest of the sources that count as short for the interaction of gain and length, None for no such table.
    """

    bootstrap: int
    randomization: int
    sentences: int
    edges: Sequence[int] | None
    longer_than: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        check("bootstrap", self.bootstrap, RESAMPLES)
        check("randomization", self.randomization, POSITIVE_WHOLE)
        check("sentences", self.sentences, WHOLE)
        if self.longer_than is not None:
            check("longer_than", self.longer_than, POSITIVE_WHOLE)
        if self.edges is not None:
            check_edges(self.edges)

    def write(
        self, folder: Path, comparison: Comparison, translated: Translated | None, notices: Sequence[str]
    ) -> Written:
        """Write the files to ``folder``, with ``notices`` for the reader; returns what is in them."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in OPTIONAL:
                (folder / name).unlink(missing_ok=True)  # from another comparison
        except OSError as problem:
            raise UserError(
                f"{folder}: cannot be written ({problem.strerror}); give another with output=..."
            ) from problem
        pairs = self._pairs(comparison, translated)
        summary = tables.summary(comparison, pairs)
        blocks: list[Block] = [summary, Paragraph(SPREAD)]
        shown = as_text(summary)
        if pairs and comparison.baseline is not None:
            samples = {"bootstrap": self.bootstrap, "randomization": self.randomization, "mixed": tables.MIXED}
            about = P_VALUES if "bleu" in tables.metrics_of(pairs) else RATE_P_VALUES
            blocks += [Paragraph(about.format(baseline=comparison.baseline.label, **samples))]
            blocks += [Heading(f"Each run against {comparison.baseline.label}"), tables.tests(pairs)]
            shown += f"\nagainst {comparison.baseline.label}\n" + as_text(tables.tests(pairs))
            write_text(folder / "significance.csv", tables.comma_separated(tables.test_rows(pairs)))
        compared = self._differences(comparison, translated)
        if compared and comparison.baseline is not None and translated is not None:
            over_seeds = tables.differences(compared, comparison.groups, translated.score.title)
            label = comparison.baseline.label
            blocks += [Heading(f"Each system against {label}, over seeds"), over_seeds]
            blocks += [
                Paragraph(OVER_SEEDS.format(score=translated.score.title, baseline=label, bootstrap=self.bootstrap))
            ]
            shown += f"\nagainst {label}, over seeds and sentences\n" + as_text(over_seeds)
        by_side = self._interactions(comparison, translated)
        if by_side and comparison.baseline is not None and translated is not None:
            label, (unit, _) = comparison.baseline.label, translated.lengths
            sides = f"up to {self.longer_than} {unit}", "longer sources"
            gains = tables.interactions(by_side, translated.score.title, *sides)
            about = INTERACTION.format(baseline=label, bootstrap=self.bootstrap)
            blocks += [Heading(f"Gain over {label} by source length"), gains, Paragraph(about)]
            shown += f"\ngain over {label} by source length\n" + as_text(gains)
            rows = [{"group": group, **interaction._asdict()} for group, interaction in by_side.items()]
            write_text(folder / "interaction.csv", tables.comma_separated(rows))
        equal = equal_budgets(comparison)
        if equal is not None and comparison.baseline is not None:
            reached = tables.budgets(equal, comparison.baseline.label)
            about = BUDGETS.format(baseline=comparison.baseline.label)
            blocks += [Heading("Validation at equal updates and equal time"), reached, Paragraph(about)]
            shown += "\nvalidation, at equal updates and equal time\n" + as_text(reached)
            rows = [{"group": label, "figure": equal.monitor, **one._asdict()} for label, one in equal.by_label.items()]
            write_text(folder / "budgets.csv", tables.comma_separated(rows))
        if notices:
            blocks += [Heading("Notes"), *map(Paragraph, notices)]
        by_number = []
        if translated is not None:
            score = translated.score
            for name, what, bands in self._bands(translated):
                by_number += tables.band_rows(bands, what, score.title)
                caption = BANDS.format(score=score.title, what=what, samples=self.bootstrap)
                caption += FOUND if what == REORDERING and translated.automatic else ""
                blocks += _figure(folder / f"{score.name}-by-{name}.png", what, bands, caption, score.title)
            write_text(folder / "bands.csv", tables.comma_separated(by_number))
            blocks += self._sentences(comparison, translated)
        name = Bleu.name if translated is None else translated.score.name
        groups = tables.group_rows(comparison, pairs, compared, name)
        write_text(folder / "comparison.csv", tables.comma_separated(groups))
        write_text(folder / "comparison.md", markdown(TITLE, blocks))
        write_text(folder / "comparison.html", html(TITLE, blocks))
        return Written(shown, groups, tables.test_rows(pairs), by_number, fragment(blocks))

    def _pairs(self, comparison: Comparison, translated: Translated | None) -> Pairs:
        baseline = comparison.baseline
        if baseline is None or translated is None or baseline not in translated.groups:
            return {}
        pairs = translated.pairs(baseline, bootstrap=self.bootstrap, randomization=self.randomization)
        untested = _untested(comparison.groups, baseline)
        return {label: of_seeds for label, of_seeds in pairs.items() if label not in untested}

    def _differences(self, comparison: Comparison, translated: Translated | None) -> Differences:
        """The differences of the groups that can be tested over seeds."""
        baseline = comparison.baseline
        if baseline is None or translated is None or baseline not in translated.groups:
            return {}
        compared = translated.differences(baseline, samples=self.bootstrap)
        stuck = _stuck(comparison.groups, baseline)
        return {label: difference for label, difference in compared.items() if label not in stuck}

    def _interactions(self, comparison: Comparison, translated: Translated | None) -> dict[str, Interaction]:
        """The interactions of the same groups, and of those of a single run."""
        baseline = comparison.baseline
        if self.longer_than is None or baseline is None or translated is None or baseline not in translated.groups:
            return {}
        by_label = translated.interactions(baseline, longer_than=self.longer_than, samples=self.bootstrap)
        stuck = _stuck(comparison.groups, baseline)
        return {label: bands for label, bands in by_label.items() if label not in stuck}

    def unanswered(self, comparison: Comparison, translated: Translated | None) -> list[str]:
        """Why ``longer_than`` gives no table, if it is set and the reader could mend that."""
        if self.longer_than is None:
            return []
        if translated is None:
            return [f"longer_than={self.longer_than}: no gains, as no translations of these runs can be compared"]
        if comparison.baseline is None:
            return [f"longer_than={self.longer_than}: gains are over a baseline; name one with baseline=..."]
        unit, lengths = translated.lengths
        if min(lengths) <= self.longer_than < max(lengths):
            return []
        of_sources = f"the sources have {min(lengths)} to {max(lengths)} {unit}"
        return [f"longer_than={self.longer_than}: no gains on shorter and longer sources, as {of_sources}"]

    def _bands(self, translated: Translated) -> list[tuple[str, str, dict[str, list[Band]]]]:
        """End of the file's name, what the numbers mean, and bands."""
        unit, lengths = translated.lengths
        edges = sorted({0, *self.edges}) if self.edges else even_edges(lengths, LENGTHS)
        bands = translated.bands(lengths, edges, samples=self.bootstrap)
        figures = [("length", LENGTH.format(unit=unit), bands)]
        if translated.links is not None:
            shares = [crossing_share(links) for links in translated.links]
            bands = translated.bands(shares, even_edges(shares, SHARES), samples=self.bootstrap)
            figures.append(("reordering", REORDERING, bands))
        return figures

    def _sentences(self, comparison: Comparison, translated: Translated) -> list[Block]:
        """Where the best group is worst and best, compared with the baseline or by itself."""
        number = min(self.sentences, len(translated.sources) // 2)
        baseline = comparison.baseline if comparison.baseline in translated.groups else None
        candidates = [group for group in translated.groups if group is not baseline]
        if number == 0 or not candidates:
            return []
        best = max(candidates, key=translated.mean)
        ranked = translated.sentences(best, baseline)
        against = "" if baseline is None else f" against {baseline.label}"
        order = "" if baseline is None else f", minus that of {baseline.label}"
        text = f"By the sentence's mean chrF over the runs of {best.label}{order}. Translations are by each first run."
        blocks: list[Block] = []
        for end, chosen in (("worst", ranked[:number]), ("best", ranked[::-1][:number])):
            blocks += [Heading(f"Sentences where {best.label} is {end}{against}"), Paragraph(text)]
            blocks += map(tables.sentence, chosen)
        return blocks


def check_edges(edges: object) -> None:
    """UserError unless they are lengths, each larger than the one before."""
    lengths = edges if isinstance(edges, list) and all(edge in WHOLE for edge in edges) else []
    if lengths and all(low < high for low, high in pairwise(lengths)):
        return
    raise UserError(f"edges={shown(edges)}: give whole numbers of words in ascending order, such as [0,11,21,31]")


def _figure(path: Path, what: str, bands: Mapping[str, Sequence[Band]], caption: str, score: str) -> list[Block]:
    from unrolled.figures.band_curves import bands_figure  # and matplotlib

    figure = bands_figure(bands, label=what, score=score)
    for suffix in (".png", ".pdf"):
        save_figure(figure, path.with_suffix(suffix))
    return [Heading(f"{score} by {what.partition(' (')[0]}"), Picture(path, caption), tables.by_number(bands, what)]


def as_text(shown: Table) -> str:
    """A table for the terminal."""
    bold = {(row + 1, column) for row, column in shown.bold} if _is_terminal() else ()
    return table([shown.head, *shown.rows], left=shown.left, bold=bold)


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def notices(comparison: Comparison) -> list[str]:
    """What a reader of the tables should know: omitted runs, figures that are missing or not comparable."""
    lines = [f"{run.folder}: {why}; left out" for run, why in comparison.left_out]
    lines += [f"{run.folder}: {NOTHING}" for group in comparison.groups for run in group.stuck()]
    if comparison.baseline is not None:
        lines += _unpaired(comparison.groups, comparison.baseline)
        untested = _untested(comparison.groups, comparison.baseline)
        lines += untested.values()
        several = {group.label for group in comparison.groups if len(group.runs) > 1}
        stuck = _stuck(comparison.groups, comparison.baseline).items()
        lines += [line for label, line in stuck if label in several and label not in untested]
    for measure in MEASURES:
        for group in comparison.groups:
            without = [run for run in group.runs if run.results.get(measure.name) is None]
            if 0 < len(without) < len(group.runs):
                folders = ", ".join(str(run.folder) for run in without)
                lines.append(f"{group.label}: no mean of {measure.title}, as it is missing or infinite in {folders}")
        if not comparison.comparable(measure):
            lines.append(f"{measure.title}: none is the best, as {measure.depends_on} differ or are not known")
    return lines


def _unpaired(groups: Sequence[Group], baseline: Group) -> list[str]:
    """Which groups have no seed in common with the baseline."""
    if not baseline.spread(BLEU.name):
        return [f"baseline {baseline.label}: no p-values, as not all of its runs have a BLEU"]
    others = baseline.by_seed()
    return [
        f"{group.label}: no p-value, as it has no run with a seed of {baseline.label} ({', '.join(map(str, others))})"
        for group in groups
        if group.spread(BLEU.name) and not group.by_seed().keys() & others.keys()
    ]


def _untested(groups: Sequence[Group], baseline: Group) -> dict[str, str]:
    """By label, a line for each group with a pair in which a run has learnt nothing.

    That one of two systems has not learnt is clear without a test, and a small p would look like a finding.
    """
    others, lines = baseline.by_seed(), {}
    for group in groups:
        runs = {seed: (run, others[seed]) for seed, run in group.by_seed().items() if seed in others}
        stuck = [seed for seed, pair in runs.items() if any(run in (*group.stuck(), *baseline.stuck()) for run in pair)]
        if stuck and group is not baseline:
            seeds = f"seed {stuck[0]}" if len(stuck) == 1 else f"seeds {', '.join(map(str, stuck))}"
            lines[group.label] = f"{group.label}: no p-value, as with {seeds} a run of the pair has learnt nothing"
    return lines


def _stuck(groups: Sequence[Group], baseline: Group) -> dict[str, str]:
    """By label, a line for each group that is not tested over seeds, as one of its runs or the baseline's is stuck."""
    why = f"not tested over seeds, as one of its runs or of {baseline.label}'s has learnt nothing"
    return {
        group.label: f"{group.label}: {why}"
        for group in groups
        if group is not baseline and (group.stuck() or baseline.stuck())
    }


def comparison_folder(runs: Sequence[Run]) -> Path:
    """comparison/ next to the runs, or in the common parent of their folders."""
    return Path(os.path.commonpath([run.folder.resolve().parent for run in runs])) / "comparison"
