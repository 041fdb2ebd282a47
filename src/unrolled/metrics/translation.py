"""BLEU, chrF and TER of a corpus, by sacreBLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics import BLEU, CHRF, TER

from unrolled.errors import UserError

TOKENIZERS = ("13a", "none", "intl", "char", "zh", "ja-mecab", "flores200")


@dataclass(frozen=True)
class TranslationScores:
    """Corpus scores, all as percentages; TER is an error rate. ``signatures``: sacreBLEU's, a name each."""

    bleu: float
    chrf: float
    ter: float
    signatures: dict[str, str]


def translation_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str, lowercase: bool
) -> TranslationScores:
    """Scores of ``hypotheses`` against one reference each, as text; ``tokenize`` is
    sacreBLEU's: none for text that is tokenised already.

    ValueError where the numbers of lines differ.
    """
    _check(hypotheses, references)
    bleu, chrf, ter = _bleu(tokenize, lowercase), CHRF(lowercase=lowercase), TER(case_sensitive=not lowercase)
    scores = {}
    signatures = {}
    for name, metric in (("bleu", bleu), ("chrf", chrf), ("ter", ter)):
        scores[name] = float(metric.corpus_score(list(hypotheses), [list(references)]).score)
        signatures[name] = str(metric.get_signature())
    return TranslationScores(**scores, signatures=signatures)


@dataclass(frozen=True)
class LengthBand:
    """BLEU of the ``sentences`` whose source has ``low`` to ``high`` words (None: no upper end)."""

    low: int
    high: int | None
    sentences: int
    bleu: float


def bleu_by_length(
    hypotheses: Sequence[str],
    references: Sequence[str],
    source_lengths: Sequence[int],
    *,
    edges: Sequence[int],
    tokenize: str,
    lowercase: bool,
) -> list[LengthBand]:
    """Corpus BLEU of each band of source lengths: ``edges`` (10, 20) gives up to 10, 11 to 20, from 21 words."""
    _check(hypotheses, references)
    bands = []
    lows, highs = [0, *(edge + 1 for edge in edges)], [*edges, None]
    for low, high in zip(lows, highs, strict=True):
        inside = [i for i, n in enumerate(source_lengths) if low <= n and (high is None or n <= high)]
        if inside:
            metric = _bleu(tokenize, lowercase)
            score = metric.corpus_score([hypotheses[i] for i in inside], [[references[i] for i in inside]]).score
            bands.append(LengthBand(low, high, len(inside), float(score)))
    return bands


def _bleu(tokenize: str, lowercase: bool) -> Any:
    if tokenize not in TOKENIZERS:
        raise UserError(f"data.bleu_tokenize={tokenize}: sacreBLEU has {', '.join(TOKENIZERS)}")
    # force: no warning that text looks tokenised; the configuration says whether it is
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} hypotheses, but {len(references)} references")
