"""BLEU, chrF and TER of a corpus by sacreBLEU (Post 2018): the figures that its command prints for the same files."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from unrolled.errors import UserError, nearest

WITHOUT_PACKAGES = ("13a", "none", "intl", "char", "zh")
"""sacreBLEU's tokenisations that need no further package and no model from the internet."""

if TYPE_CHECKING:  # imported where it is used: language models have no BLEU
    from sacrebleu.metrics.bleu import BLEU


@dataclass(frozen=True)
class TranslationScores:
    """Scores in percent; ``signatures`` are sacreBLEU's, under bleu, chrf and ter. Lower TER is better."""

    bleu: float
    chrf: float
    signatures: dict[str, str]
    hypotheses: Sequence[str]
    references: Sequence[str]

    @cached_property
    def ter(self) -> float:
        """Translation edit rate, not case-sensitive. Computed on demand: long sentences take minutes."""
        from sacrebleu.metrics.ter import TER

        return float(TER().corpus_score(self.hypotheses, [self.references]).score)


def translation_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> TranslationScores:
    """Scores of detokenised ``hypotheses``, one reference each.

    ``tokenize`` is sacreBLEU's tokenisation for BLEU; "none" is for text that is already tokenised. ``lowercase`` is
    for BLEU only, like the command's -lc. UserError for a ``tokenize`` that sacreBLEU does not have, ValueError for
    sequences that are empty or differ in length.
    """
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    check_lengths(hypotheses, references)
    bleu, chrf, ter = bleu_metric(tokenize, lowercase), CHRF(), TER()
    ter.num_refs = 1  # the signature gets it only from scoring, and TER is scored later
    return TranslationScores(
        bleu=float(bleu.corpus_score(hypotheses, [references]).score),
        chrf=float(chrf.corpus_score(hypotheses, [references]).score),
        signatures={
            "bleu": str(bleu.get_signature()),
            "chrf": str(chrf.get_signature()),
            "ter": str(ter.get_signature()),
        },
        hypotheses=hypotheses,
        references=references,
    )


def bleu_statistics(
    hypotheses: Sequence[str], reference: str, *, tokenize: str = "13a", lowercase: bool = False
) -> list[list[int]]:
    """What BLEU sums, for each translation of one sentence: matches and totals of 1- to 4-grams, both lengths."""
    bleu = bleu_metric(tokenize, lowercase)
    bleu.effective_order = True  # no warning: the scores of single sentences are not used
    scores = [bleu.sentence_score(hypothesis, [reference]) for hypothesis in hypotheses]
    return [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores]


def bleu_of_statistics(sums: Iterable[Any]) -> float:
    """BLEU of a corpus from the sums of ``bleu_statistics`` over its sentences, whole numbers ``(10,)``."""
    from sacrebleu.metrics.bleu import BLEU

    *counts, length, reference_length = (int(number) for number in sums)
    score = BLEU.compute_bleu(counts[:4], counts[4:], length, reference_length, smooth_method="exp")
    return float(score.score)


class LengthBLEU(NamedTuple):
    """BLEU of the ``sentences`` sentences whose source has ``low`` to ``high`` words, both included."""

    low: int
    high: float
    sentences: int
    bleu: float


def bleu_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source_lengths: Sequence[int],
    edges: Sequence[int],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> list[LengthBLEU]:
    """Corpus BLEU of each group of source lengths.

    ``edges``, ascending, are the smallest lengths of the groups; the last group is open (``high`` infinite). Groups
    without sentences are omitted. ValueError for sequences that are empty or differ in length, or a length below all
    edges.
    """
    check_lengths(hypotheses, references, source_lengths)
    if min(source_lengths) < edges[0]:
        raise ValueError(f"a source of {min(source_lengths)} words is shorter than the first edge, {edges[0]}")
    groups = []
    for low, high in zip(edges, [*(edge - 1 for edge in edges[1:]), math.inf]):
        rows = [row for row, length in enumerate(source_lengths) if low <= length <= high]
        if rows:
            score = bleu_metric(tokenize, lowercase).corpus_score(
                [hypotheses[row] for row in rows], [[references[row] for row in rows]]
            )
            groups.append(LengthBLEU(low, high, len(rows), float(score.score)))
    return groups


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of every sentence by itself, in percent."""
    from sacrebleu.metrics.chrf import CHRF

    check_lengths(hypotheses, references)
    chrf = CHRF()
    return [float(chrf.sentence_score(one, [other]).score) for one, other in zip(hypotheses, references)]


def check_bleu_tokenize(tokenize: str) -> None:
    """UserError for a ``tokenize`` that `bleu_metric` refuses."""
    if tokenize not in WITHOUT_PACKAGES:  # else sacreBLEU need not be imported yet
        bleu_metric(tokenize, lowercase=False)


def bleu_metric(tokenize: str, lowercase: bool) -> "BLEU":
    """sacreBLEU's BLEU; UserError for a ``tokenize`` that it does not have, or whose package or model is missing."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(
            f"bleu_tokenize={tokenize}: sacreBLEU has no such tokenizer"
            f"{nearest(tokenize, sorted(BLEU.TOKENIZERS), 'give one of')}"
        )
    try:
        # force: no warning about tokenised text if the user says that it is tokenised
        return BLEU(tokenize=tokenize, lowercase=lowercase, force=tokenize == "none")
    except (RuntimeError, ImportError, OSError) as problem:  # OSError: a model that cannot be downloaded
        raise UserError(f"bleu_tokenize={tokenize}: sacreBLEU says: {' '.join(str(problem).split())}") from problem


def check_lengths(hypotheses: Sequence[str], references: Sequence[str], *more: Sequence[int]) -> None:
    """ValueError for sequences that are empty or differ in length."""
    lengths = [len(lines) for lines in (hypotheses, references, *more)]
    if len(set(lengths)) > 1:
        raise ValueError(f"hypotheses, references and lengths must be equally many, not {lengths}")
    if lengths[0] == 0:
        raise ValueError("there are no hypotheses to score")
