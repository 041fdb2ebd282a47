"""Properties of attention weights between words: how close to known links, how sharp, and what source they miss.

Letters: S source pieces and T target pieces, both with </s>.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field

import numpy as np
import numpy.typing as npt

from unrolled.alignment.links import Links
from unrolled.alignment.pieces import word_weights
from unrolled.metrics.alignment_scores import AlignmentCounts, links_from_weights, share


@dataclass
class AttentionCounts:
    """Sums over sentence pairs, to be divided once."""

    alignment: AlignmentCounts = field(default_factory=AlignmentCounts)
    entropy: float = 0.0
    target_words: int = 0
    source_words: int = 0
    attended: int = 0

    def add(
        self,
        weights: npt.ArrayLike,
        source_words: Sequence[int],
        target_words: Sequence[int],
        gold: tuple[Links, Links] | None,
    ) -> None:
        """Count a pair: ``weights (T, S)``, and the word of each piece except </s>, -1 for a piece of no word.

        The weights of a target word are the mean over its pieces; </s> of the source counts as a word, that of the
        target is ignored, and so are words without pieces, such as a lone no-break space. ``gold``: the pair's (sure,
        possible) links, None if they are not known.
        """
        end = max(source_words, default=-1) + 1
        words = word_weights(np.asarray(weights)[:-1], [*source_words, end], target_words)
        links = links_from_weights(words[:, :end])
        # H(alpha_i) = -sum_j alpha_ij log alpha_ij, 0 log 0 = 0
        self.entropy -= float(np.sum(words * np.log(words, out=np.zeros_like(words), where=words > 0)))
        self.target_words += len({*target_words} - {-1})
        self.source_words += len({*source_words} - {-1})
        self.attended += len({source for source, _ in links})
        if gold is not None:
            self.alignment.add(links, gold)

    def merge(self, others: Sequence["AttentionCounts"]) -> None:
        """Add the counts of ``others``."""
        for other in others:
            self.alignment.merge(other.alignment)
            self.entropy += other.entropy
            self.target_words += other.target_words
            self.source_words += other.source_words
            self.attended += other.attended

    def figures(self) -> dict[str, float]:
        """Figures by name; without known links, no alignment figures.

        aer, alignment_precision, alignment_recall: see `AlignmentScores`, with each target word linked to the source
        word that it attends to most. attention_entropy: nats per target word. unattended: the share of source words
        that no target word attends to most; words_per_attended: target words for each of the other source words.
        """
        scores = self.alignment.scores()
        known = {"aer": scores.aer, "alignment_precision": scores.precision, "alignment_recall": scores.recall}
        return (known if any(astuple(self.alignment)) else {}) | {
            "attention_entropy": share(self.entropy, self.target_words),
            "unattended": share(self.source_words - self.attended, self.source_words),
            "words_per_attended": share(self.target_words, self.attended),
        }
