"""Interpolated modified Kneser-Ney smoothing (Chen & Goodman 1998, sections 2.7 and 3; Heafield et al. 2013).

    p(w | h) = (a(h w) - D(a(h w))) / sum_v a(h v) + lambda(h) p(w | h'),    lambda(h) = sum_v D(a(h v)) / sum_v a(h v)

h' is h without its first word, and unigrams back off to 1 / |V|. The adjusted count a is the count for the longest
n-grams and for those that begin with <s>; for others it is the number of different words seen before them.
"""

import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from unrolled.errors import UserError
from unrolled.ngram.counts import Counts, Estimate, counts_of_counts

log = logging.getLogger(__name__)
FALLBACK = (0.5, 1.0, 1.5)
"""Discounts if counts of counts give none, as in a tiny corpus."""


class KneserNey:
    """The equations above; D_1, D_2 and D_3, for counts 1, 2 and more, are estimated for each order, or given."""

    def __init__(self, *, discounts: Sequence[float] | None) -> None:
        if discounts is not None and not _proper(discounts):
            raise UserError(
                f"model.estimator.discounts={discounts}: give three numbers above 0, at most 1, 2 and 3, or null"
            )
        self.discounts = None if discounts is None else tuple(discounts)

    def __call__(self, counts: Counts) -> Estimate:
        """See `Estimator`."""
        probabilities: list[Tensor] = []
        backoffs = []
        for order, grams in enumerate(counts.grams, start=1):
            adjusted = adjusted_counts(counts, order)
            amounts = torch.tensor([0.0, *self._discounts(adjusted, order)], dtype=torch.float64)
            discount = amounts[adjusted.clamp_max(3)]  # D(a)
            totals = grams.sums(adjusted).double()
            weights = (grams.sums(discount) / totals).where(totals > 0, 1.0)  # lambda
            first = (adjusted - discount) / totals[grams.contexts]
            probabilities.append(first + weights[grams.contexts] * counts.below(order, probabilities))
            backoffs.append(weights)
        return Estimate(probabilities, backoffs[1:])

    def _discounts(self, adjusted: Tensor, order: int) -> Sequence[float]:
        if self.discounts is not None:
            return self.discounts
        numbers = counts_of_counts(adjusted, 4)
        if all(numbers[:3]):
            # Y = n_1 / (n_1 + 2 n_2),    D_i = i - (i + 1) Y n_{i+1} / n_i
            y = numbers[0] / (numbers[0] + 2 * numbers[1])
            discounts = [i - (i + 1) * y * numbers[i] / numbers[i - 1] for i in (1, 2, 3)]
            if min(discounts) > 0:
                return discounts
        log.info(
            "order %d: too few n-grams for discounts (%s of them have the counts 1 to 4): D = %s is used",
            order,
            ", ".join(map(str, numbers)),
            FALLBACK,
        )
        return FALLBACK


def _proper(discounts: object) -> bool:
    if not isinstance(discounts, Sequence):
        return False
    amounts = [amount for amount in discounts if isinstance(amount, int | float) and not isinstance(amount, bool)]
    return len(discounts) == len(amounts) == 3 and all(0 < amount <= i for i, amount in enumerate(amounts, start=1))


def adjusted_counts(counts: Counts, order: int) -> Tensor:
    """a of every n-gram of ``order`` k, ``(M_k,)``."""
    grams = counts.grams[order - 1]
    if order == len(counts.grams):
        return grams.counts
    before = torch.bincount(counts.grams[order].suffixes, minlength=len(grams.words))
    return grams.counts.where(grams.initial, before)
