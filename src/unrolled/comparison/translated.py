"""The translations of one test text by all compared runs, with its sources, references and word links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from unrolled.alignment.links import Links
from unrolled.comparison.groups import Group
from unrolled.metrics.bands import Band, bleu_bands, run_statistics
from unrolled.metrics.seed_significance import SystemDifference, bleu_difference
from unrolled.metrics.significance import paired_tests
from unrolled.metrics.translation_scores import sentence_chrf


class Sentence(NamedTuple):
    """A test sentence: ``translations`` by each group's first run, with their chrF; ``gain`` in mean chrF over runs."""

    line: int
    source: str
    reference: str
    translations: Mapping[str, tuple[str, float]]
    gain: float


@dataclass(frozen=True)
class Translated:
    """``groups`` whose runs all translated the same text, and each run's translations by its folder.

    links: those of every pair of source and reference, None if unknown; found: whether our aligner found them.
    scoring: how BLEU is computed, for `translation_scores`.
    """

    groups: Sequence[Group]
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Mapping[Path, Sequence[str]]
    scoring: Mapping[str, Any] = field(default_factory=dict)
    links: Sequence[Links] | None = None
    found: bool = False

    def of(self, group: Group) -> list[Sequence[str]]:
        """The translations of a group, one list per run."""
        return [self.hypotheses[run.folder] for run in group.runs]

    def pairs(self, baseline: Group, *, bootstrap: int, randomization: int) -> dict[str, dict[Any, Any]]:
        """By label and seed, the `paired_tests` of each run against the baseline's run with the same seed."""
        scored: dict[str, dict[Any, Any]] = {}
        others = {group.label: group.by_seed() for group in self.groups if group is not baseline}
        for seed, run in baseline.by_seed().items():
            systems = {label: self.hypotheses[runs[seed].folder] for label, runs in others.items() if seed in runs}
            tests = paired_tests(
                self.hypotheses[run.folder],
                systems,
                self.references,
                bootstrap=bootstrap,
                randomization=randomization,
                **self.scoring,
            )
            for label, scores in tests.items():
                scored.setdefault(label, {})[seed] = scores
        return scored

    def differences(self, baseline: Group, *, samples: int) -> dict[str, SystemDifference]:
        """By label, each group's BLEU against the baseline's over seeds and sentences, if both have several runs."""
        statistics = run_statistics(self.of(baseline), self.references, **self.scoring)
        by_label = {
            group.label: bleu_difference(
                statistics, run_statistics(self.of(group), self.references, **self.scoring), samples=samples
            )
            for group in self.groups
            if group is not baseline and min(len(group.runs), len(baseline.runs)) > 1
        }
        return {label: difference for label, difference in by_label.items() if difference is not None}

    def bands(self, numbers: Sequence[float], edges: Sequence[float], *, samples: int) -> dict[str, list[Band]]:
        """By label, BLEU of groups of sentences; ``numbers`` has one for each sentence."""
        return {
            group.label: bleu_bands(
                run_statistics(self.of(group), self.references, **self.scoring), numbers, edges, samples=samples
            )
            for group in self.groups
        }

    def sentences(self, group: Group, baseline: Group | None) -> list[Sentence]:
        """All test sentences, beginning with those where ``group`` is worst, against the baseline or by itself."""
        chrf = {other.label: [sentence_chrf(run, self.references) for run in self.of(other)] for other in self.groups}
        means = {label: [fmean(of_runs) for of_runs in zip(*runs)] for label, runs in chrf.items()}
        sentences = []
        for row, (source, reference) in enumerate(zip(self.sources, self.references, strict=True)):
            below = means[baseline.label][row] if baseline is not None else 0.0
            translations = {other.label: (self.of(other)[0][row], chrf[other.label][0][row]) for other in self.groups}
            sentences.append(Sentence(row + 1, source, reference, translations, means[group.label][row] - below))
        return sorted(sentences, key=lambda sentence: sentence.gain)
