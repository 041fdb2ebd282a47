"""Greedy and beam search as settings, made from configuration."""

from dataclasses import dataclass, field
from typing import Any

from unrolled.errors import NOT_NEGATIVE, POSITIVE_WHOLE, check
from unrolled.search.beam import Score, beam_search, greedy
from unrolled.search.coverage import Covered
from unrolled.search.fusion import Fused
from unrolled.search.generator import Generator, Hypothesis
from unrolled.search.length import PerToken, check_limits, length_limits


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Greedy search as a setting; all lengths are in tokens and count </s>, also that of the source.

    Translations have at most ``max_length_ratio`` x source length + ``max_length_extra`` tokens, and at least
    ``min_length_ratio`` x source length.
    """

    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    min_length_ratio: float = 0.0

    def __post_init__(self) -> None:
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)

    def __call__(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        """One hypothesis for every sentence of ``batch``, in its order."""
        return greedy(
            generator,
            batch,
            max_lengths=length_limits(batch, self.max_length_ratio, self.max_length_extra),
            min_lengths=length_limits(batch, self.min_length_ratio, 0),
        )


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """Beam search as a setting; limits on lengths as in ``Greedy``.

    ``coverage_penalty`` is beta of ``search.coverage``; a ``language_model`` with the same vocabulary, in evaluation
    mode, guides the search with ``language_model_weight`` as in ``search.fusion``.
    """

    beam_size: int = 5
    length_normalization: Score = field(default_factory=PerToken)
    coverage_penalty: float = 0.0
    language_model: Generator | None = None
    language_model_weight: float = 0.2
    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    min_length_ratio: float = 0.0

    def __post_init__(self) -> None:
        check("search.beam_size", self.beam_size, POSITIVE_WHOLE)
        check("search.coverage_penalty", self.coverage_penalty, NOT_NEGATIVE)
        check("search.language_model_weight", self.language_model_weight, NOT_NEGATIVE)
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)

    def __call__(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        """The best hypothesis for every sentence of ``batch``, in its order."""
        return [hypotheses[0] for hypotheses in self.nbest(generator, batch, 1)]

    def nbest(self, generator: Generator, batch: Any, count: int) -> list[list[Hypothesis]]:
        """The ``count`` best of every sentence, best first; fewer where the beam finds fewer."""
        driven: Any = generator
        if self.language_model is not None and self.language_model_weight > 0:  # 0 x log 0 is no number
            driven = Fused(driven, self.language_model, self.language_model_weight)
        if self.coverage_penalty > 0:
            driven = Covered(driven, self.coverage_penalty)
        return beam_search(
            driven,
            batch,
            penalty=driven.penalty if isinstance(driven, Covered) else None,
            beam_size=self.beam_size,
            max_lengths=length_limits(batch, self.max_length_ratio, self.max_length_extra),
            min_lengths=length_limits(batch, self.min_length_ratio, 0),
            score=self.length_normalization,
            nbest=count,
        )
