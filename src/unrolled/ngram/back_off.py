"""Back-off with discounts: seen words give up some probability, which unseen words share as in a shorter context.

    p(w | h) = (c(h w) - d) / c(h)     if hw was seen,        p(w | h) = a(h) p(w | h')     if it was not,

where h' is h without its first word, and a(h) makes the sum over w one (Katz 1987; the lecture's alpha_n and d_n).
Unigrams back off to 1 / |V|.
"""

import logging
from collections.abc import Callable

import torch
from torch import Tensor

from unrolled.errors import Numbers, check
from unrolled.ngram.counts import Counts, Estimate, counts_of_counts

log = logging.getLogger(__name__)
FALLBACK = 0.5
"""The discount of every count if counts of counts do not determine it, as in a tiny corpus."""


def back_off(counts: Counts, discount: Callable[[Tensor, int], Tensor]) -> Estimate:
    """The equations above, where ``discount(c (M_k,), k)`` returns c - d for each count c, positive where c is.

    A context that all words followed needs no discount and gets none. If nothing was discounted, unseen words would get
    no probability mass: then one is added to the context's total, and they get that one.
    """
    probabilities: list[Tensor] = []
    backoffs = []
    for order, grams in enumerate(counts.grams, start=1):
        seen = grams.counts > 0
        totals = grams.sums(grams.counts).double()
        followers = grams.sums(seen.long())
        complete = followers == counts.words
        kept = grams.counts.double()
        if not complete.all():
            kept = kept.where(complete[grams.contexts], discount(grams.counts, order))
        freed = grams.sums(grams.counts - kept)
        once_more = (freed <= 0) & ~complete
        freed, totals = freed + once_more, totals + once_more
        below = counts.below(order, probabilities)
        # a(h) = (1 - sum of the seen words' p(w | h)) / (1 - sum of the seen words' p(w | h'))
        unseen = 1 - grams.sums(below * seen)
        backoff = (freed / totals / unseen.clamp_min(1e-15)).where(~complete, 0.0)
        probabilities.append((kept / totals[grams.contexts]).where(seen, backoff[grams.contexts] * below))
        backoffs.append(backoff.where(followers > 0, 1.0))
    return Estimate(probabilities, backoffs[1:])


class Absolute:
    """d = D for every count (Ney, Essen & Kneser 1994), D = n_1 / (n_1 + 2 n_2) of each order unless it is given."""

    def __init__(self, *, discount: float | None) -> None:
        check("model.estimator.discount", discount, Numbers(above=0, below=1, also=(None,)))
        self.discount = discount

    def __call__(self, counts: Counts) -> Estimate:
        """See `Estimator`."""
        return back_off(counts, self._kept)

    def _kept(self, counts: Tensor, order: int) -> Tensor:
        once, twice = counts_of_counts(counts, 2)
        discount = self.discount
        if discount is None and (once == 0 or twice == 0):
            log.info("order %d: %d n-grams seen once, %d twice: D = %g is used", order, once, twice, FALLBACK)
            discount = FALLBACK
        return (counts.double() - (once / (once + 2 * twice) if discount is None else discount)).clamp_min(0)


class Katz:
    """Good and Turing's estimate r* = (r + 1) n_{r+1} / n_r for counts r up to ``most``; greater counts are reliable.

    c - d = d_r r with d_r = (r* / r - A) / (1 - A), A = (k + 1) n_{k+1} / n_1, k = ``most`` (Katz 1987, equation 15).
    If the d_r of an order are not all between 0 and 1, its k is lowered until they are.
    """

    def __init__(self, *, most: int) -> None:
        check("model.estimator.most", most, Numbers(least=2, whole=True))
        self.most = most

    def __call__(self, counts: Counts) -> Estimate:
        """See `Estimator`."""
        return back_off(counts, self._kept)

    def _kept(self, counts: Tensor, order: int) -> Tensor:
        shares = self._shares(counts_of_counts(counts, self.most + 1))
        if len(shares) < self.most:
            log.info("order %d: Good and Turing discount up to count %d, not %d", order, len(shares), self.most)
        if not shares:
            log.info("order %d: %g is subtracted from every count instead", order, FALLBACK)
            return (counts.double() - FALLBACK).clamp_min(0)
        ratios = torch.tensor([1.0, *shares, 1.0], dtype=torch.float64)
        return counts * ratios[counts.clamp_max(len(shares) + 1)]

    @staticmethod
    def _shares(numbers: list[int]) -> list[float]:
        """d_1 ... d_k from n_1 ... n_{k+1}, for the greatest k with valid ones; an empty list if there is none."""
        for most in range(len(numbers) - 1, 1, -1):  # d_1 is 0 if k is 1
            if 0 in numbers[: most + 1]:
                continue
            beyond = (most + 1) * numbers[most] / numbers[0]  # A
            if beyond >= 1:
                continue
            shares = [((r + 1) * numbers[r] / (r * numbers[r - 1]) - beyond) / (1 - beyond) for r in range(1, most + 1)]
            if all(0 < share < 1 for share in shares):
                return shares
        return []
