"""Relative frequencies, without or with a constant added to every count (Cho's lecture, n-gram models)."""

import torch

from unrolled.errors import Numbers, check
from unrolled.ngram.counts import Counts, Estimate


class MaximumLikelihood:
    """p(w | h) = c(h w) / c(h): 0 for unseen words.

    For an unseen context this is 0 / 0: then the context without its first word is used.
    """

    def __call__(self, counts: Counts) -> Estimate:
        """See `Estimator`; the only estimator that gives 0 to words of the vocabulary."""
        probabilities, backoffs = [], []
        for grams in counts.grams:
            totals = grams.sums(grams.counts)
            probabilities.append(grams.counts.double() / totals[grams.contexts])
            backoffs.append((totals == 0).double())
        return Estimate(probabilities, backoffs[1:])


class AddAlpha:
    """p(w | h) = (c(h w) + alpha) / (c(h) + alpha |V|), h the n - 1 words before, or fewer back to <s>.

    For an unseen context this is 1 / |V|.
    """

    def __init__(self, *, alpha: float) -> None:
        check("model.estimator.alpha", alpha, Numbers(above=0, instead="use model/estimator=maximum_likelihood"))
        self.alpha = alpha

    def __call__(self, counts: Counts) -> Estimate:
        """See `Estimator`. Contexts shorter than h do not count: after them every word has 1 / |V|."""
        added = self.alpha * counts.words
        whole = torch.zeros(1, dtype=torch.bool)  # (C_k,): which contexts are complete histories h
        probabilities, backoffs = [], []
        for order, grams in enumerate(counts.grams, start=1):
            if order == len(counts.grams):
                whole = torch.ones_like(whole)
            totals = grams.sums(grams.counts).double() + added
            alone = counts.predictable if order == 1 else torch.ones_like(grams.initial)
            smoothed = (grams.counts.double() + self.alpha) / totals[grams.contexts]
            probabilities.append(smoothed.where(whole[grams.contexts], 1 / counts.words) * alone)
            # for an unseen w: alpha / (c(h) + alpha |V|) = back-off x 1 / |V|
            backoffs.append((added / totals).where(whole, 1.0))
            whole = grams.initial
        return Estimate(probabilities, backoffs[1:])
