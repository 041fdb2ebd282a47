"""Greedy and beam search as settings, made from configuration."""

from dataclasses import dataclass, field
from typing import Any

from unrolled.errors import NOT_NEGATIVE, POSITIVE_WHOLE, UserError, check
from unrolled.search.beam import Score, beam_search, greedy
from unrolled.search.coverage import Covered
from unrolled.search.forced_scores import Lists, with_forced_scores
from unrolled.search.frozen_weights import check_weights, inference
from unrolled.search.fusion import Fused
from unrolled.search.generator import Generator, Hypothesis
from unrolled.search.length import PerToken, check_limits, length_limits
from unrolled.search.shortlist import Shortlist, search_among


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Greedy search as a setting; all lengths, the source's too, are in tokens and count </s>.

    Translations have at most ``max_length_ratio`` x source length + ``max_length_extra`` tokens, and at least
    ``min_length_ratio`` x source length. ``weights`` in products: float or int8, see ``models.fast.int8``.
    ``shortlist``: search among few words, see ``search.shortlist``.
    """

    max_length_ratio: float = 2.0
    max_length_extra: int = 10
    min_length_ratio: float = 0.0
    weights: str = "float"
    shortlist: Shortlist | None = None

    def __post_init__(self) -> None:
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)
        check_weights(self.weights)

    def __call__(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        """One hypothesis for every sentence of ``batch``, in its order."""
        if self.shortlist is None:
            return self._search(generator, batch)
        lists = inference(search_among, self.weights)(
            generator,
            batch,
            self.shortlist,
            lambda driven: [[hypothesis] for hypothesis in self._search(driven, batch)],
            int8=self.weights == "int8",
        )
        return [hypothesis for (hypothesis,) in lists]

    def with_forced_scores(self, generator: Generator, batch: Any, lists: Lists) -> Lists:
        """What this search found, with the log-probabilities that ``generator`` gives."""
        return with_forced_scores(generator, batch, lists, score=lambda log_probability, length: log_probability)

    def _search(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        least, most = length_limits(batch, self.max_length_ratio, self.max_length_extra, self.min_length_ratio)
        return inference(greedy, self.weights)(generator, batch, max_lengths=most, min_lengths=least)


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """Beam search as a setting; limits on lengths, ``weights`` and ``shortlist`` as in ``Greedy``.

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
    weights: str = "float"
    shortlist: Shortlist | None = None

    def __post_init__(self) -> None:
        check("search.beam_size", self.beam_size, POSITIVE_WHOLE)
        check("search.coverage_penalty", self.coverage_penalty, NOT_NEGATIVE)
        check("search.language_model_weight", self.language_model_weight, NOT_NEGATIVE)
        check_limits(self.max_length_ratio, self.max_length_extra, self.min_length_ratio)
        check_weights(self.weights)
        if self.shortlist is not None and self.language_model is not None:
            raise UserError(
                "search.shortlist and search.language_model: a language model needs all words; omit one of the two"
            )

    def __call__(self, generator: Generator, batch: Any) -> list[Hypothesis]:
        """The best hypothesis for every sentence of ``batch``, in its order."""
        return [hypotheses[0] for hypotheses in self.nbest(generator, batch, 1)]

    def nbest(self, generator: Generator, batch: Any, count: int) -> list[list[Hypothesis]]:
        """The ``count`` best of every sentence, best first; fewer where the beam finds fewer."""
        if self.shortlist is None:
            return self._search(generator, batch, count)
        return inference(search_among, self.weights)(
            generator,
            batch,
            self.shortlist,
            lambda driven: self._search(driven, batch, count),
            int8=self.weights == "int8",
        )

    def with_forced_scores(self, generator: Generator, batch: Any, lists: Lists) -> Lists:
        """What this search found, best first by the log-probabilities that ``generator`` gives."""
        return with_forced_scores(self._fused(generator), batch, lists, score=self.length_normalization)

    def _fused(self, generator: Generator) -> Generator:
        if self.language_model is None or self.language_model_weight == 0:  # 0 x log 0 is NaN
            return generator
        return Fused(generator, self.language_model, self.language_model_weight)

    def _search(self, generator: Generator, batch: Any, count: int) -> list[list[Hypothesis]]:
        driven: Any = self._fused(generator)
        if self.coverage_penalty > 0:
            driven = Covered(driven, self.coverage_penalty)
        least, most = length_limits(batch, self.max_length_ratio, self.max_length_extra, self.min_length_ratio)
        return inference(beam_search, self.weights)(
            driven,
            batch,
            penalty=driven.penalty if isinstance(driven, Covered) else None,
            beam_size=self.beam_size,
            max_lengths=most,
            min_lengths=least,
            score=self.length_normalization,
            nbest=count,
        )


def is_exact(search: Greedy | BeamSearch) -> bool:
    """Whether the log-probabilities that it finds are the generator's own."""
    return search.weights == "float" and search.shortlist is None
