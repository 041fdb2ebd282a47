"""Whether two systems differ on more than these sentences: sacreBLEU's paired tests (--paired-bs, --paired-ar).

Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation" (bootstrap); Riezler & Maxwell 2005, "On
Some Pitfalls in Automatic Evaluation and Significance Testing for MT" (approximate randomisation).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from unrolled.metrics.translation_scores import bleu_metric, check_lengths


class PairedScores(NamedTuple):
    """A system's score and the baseline's, in percent, and the two-sided p-values of their difference."""

    score: float
    baseline: float
    bootstrap: float
    randomization: float

    @property
    def difference(self) -> float:
        """How much higher the system scores."""
        return self.score - self.baseline


def paired_tests(
    baseline: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    bootstrap: int = 1000,
    randomization: int = 10000,
) -> dict[str, dict[str, PairedScores]]:
    """For each system "bleu" and "chrf" compared with the baseline's; all lines detokenised, one reference each.

    ``tokenize`` and ``lowercase`` as in `translation_scores`. ``bootstrap`` resamples and ``randomization`` trials are
    drawn with sacreBLEU's seed, 12345 or the environment variable SACREBLEU_SEED. Two equal scores have p = 1, whereas
    sacreBLEU counts only trials with a difference above 0 and so calls a system better than itself.
    ValueError: no lines, different numbers of lines, a number of samples below 1.
    """
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    if min(bootstrap, randomization) < 1:
        raise ValueError(f"bootstrap={bootstrap}, randomization={randomization}: both must be above 0")
    for lines in (baseline, *systems.values()):
        check_lengths(lines, references)
    named = [("baseline", baseline), *systems.items()]
    metrics = {"BLEU": bleu_metric(tokenize, lowercase), "chrF2": CHRF()}

    def results(kind: str, samples: int) -> dict[str, list[Any]]:
        return PairedTest(named, metrics, [references], test_type=kind, n_samples=samples)()[1]

    resampled, randomized = results("bs", bootstrap), results("ar", randomization)
    return {
        system: {
            name: _scores(resampled[metric][0], resampled[metric][place], randomized[metric][place])
            for name, metric in (("bleu", "BLEU"), ("chrf", "chrF2"))
        }
        for place, system in enumerate(systems, start=1)
    }


def _scores(baseline: Any, resampled: Any, randomized: Any) -> PairedScores:
    """From sacreBLEU's results."""
    equal = resampled.score == baseline.score
    p_values = (1.0, 1.0) if equal else (float(resampled.p_value), float(randomized.p_value))
    return PairedScores(float(resampled.score), float(baseline.score), *p_values)
