"""The translations of one test text by all compared runs, with its sources, references and word links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from unrolled.alignment.links import Links
from unrolled.comparison.groups import Group
from unrolled.metrics.bands import Band, score_bands
from unrolled.metrics.error_rates import errors_of_lines
from unrolled.metrics.interaction import Interaction, interaction
from unrolled.metrics.line_scores import Bleu, ExactMatch, LineScore
from unrolled.metrics.paired_rates import paired_error_rates
from unrolled.metrics.seed_significance import SystemDifference, score_difference
from unrolled.metrics.significance import PairedScores, paired_tests
from unrolled.metrics.source_lengths import source_lengths
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

    links: those of every pair of source and reference, None if unknown; automatic: whether our aligner found them.
    score: BLEU, or exact match of lines that are right or wrong.
    """

    groups: Sequence[Group]
    sources: Sequence[str]
    references: Sequence[str]
    hypotheses: Mapping[Path, Sequence[str]]
    score: LineScore
    links: Sequence[Links] | None = None
    automatic: bool = False

    @property
    def lengths(self) -> tuple[str, list[int]]:
        """The unit, words or letters, and the length of each source."""
        return source_lengths(self.sources)

    def mean(self, group: Group) -> float:
        """The mean score over the runs of a group."""
        return fmean(self.score.of_sums(run.sum(axis=0)) for run in self._statistics(group))

    def of(self, group: Group) -> list[Sequence[str]]:
        """The translations of a group, one list per run."""
        return [self.hypotheses[run.folder] for run in group.runs]

    def pairs(self, baseline: Group, *, bootstrap: int, randomization: int) -> dict[str, dict[Any, Any]]:
        """By label and seed, each run tested against the baseline's run with the same seed.

        Tested are BLEU and chrF (`paired_tests`), or, of lines that are right or wrong, both error rates.
        """
        scored: dict[str, dict[Any, Any]] = {}
        others = {group.label: group.by_seed() for group in self.groups if group is not baseline}
        for seed, run in baseline.by_seed().items():
            systems = {label: self.hypotheses[runs[seed].folder] for label, runs in others.items() if seed in runs}
            tests = self._tests(self.hypotheses[run.folder], systems, bootstrap=bootstrap, randomization=randomization)
            for label, scores in tests.items():
                scored.setdefault(label, {})[seed] = scores
        return scored

    def _tests(
        self, baseline: Sequence[str], systems: Mapping[str, Sequence[str]], *, bootstrap: int, randomization: int
    ) -> dict[str, dict[str, PairedScores]]:
        """By system and figure."""
        samples: dict[str, Any] = {"bootstrap": bootstrap, "randomization": randomization}
        if isinstance(self.score, ExactMatch):
            symbols = self.score.symbols
            theirs = errors_of_lines(baseline, self.references, symbols)
            return {
                label: paired_error_rates([theirs], [errors_of_lines(lines, self.references, symbols)], **samples)
                for label, lines in systems.items()
            }
        assert isinstance(self.score, Bleu)
        scoring: dict[str, Any] = {"tokenize": self.score.tokenize, "lowercase": self.score.lowercase}
        return paired_tests(baseline, systems, self.references, **scoring, **samples)

    def _statistics(self, group: Group) -> Any:
        return self.score.statistics(self.of(group), self.references)

    def differences(self, baseline: Group, *, samples: int) -> dict[str, SystemDifference]:
        """By label, each group's score against the baseline's over seeds and sentences, if both have several runs."""
        statistics = self._statistics(baseline)
        by_label = {
            group.label: score_difference(self.score, statistics, self._statistics(group), samples=samples)
            for group in self.groups
            if group is not baseline and min(len(group.runs), len(baseline.runs)) > 1
        }
        return {label: difference for label, difference in by_label.items() if difference is not None}

    def interactions(self, baseline: Group, *, longer_than: int, samples: int) -> dict[str, Interaction]:
        """By label, whether each group gains more over the baseline on sources longer than ``longer_than``."""
        chosen = np.array(self.lengths[1]) > longer_than
        statistics = self._statistics(baseline)
        by_label = {
            group.label: interaction(self.score, statistics, self._statistics(group), chosen, samples=samples)
            for group in self.groups
            if group is not baseline
        }
        return {label: bands for label, bands in by_label.items() if bands is not None}

    def bands(self, numbers: Sequence[float], edges: Sequence[float], *, samples: int) -> dict[str, list[Band]]:
        """By label, the score of groups of sentences; ``numbers`` has one for each sentence."""
        return {
            group.label: score_bands(self.score, self._statistics(group), numbers, edges, samples=samples)
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
