"""How often each n-gram occurs in a text.

Letters: N tokens of the text, V vocabulary, M_k distinct k-grams, C_k their contexts: the k - 1 words before the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from unrolled.text.tokens import BOS, PAD


@dataclass(frozen=True, eq=False)
class Grams:
    """The distinct k-grams of a text, sorted by context, then by last word. For k = 1 all words of the vocabulary.

    contexts ``(M_k,)``: the index of the first k - 1 words among the (k-1)-grams. words ``(M_k,)``: the last word.
    suffixes ``(M_k,)``: the index of the last k - 1 words among the (k-1)-grams. counts ``(M_k,)``: how often the last
    word was predicted after the others, so that <s> by itself has 0. initial ``(M_k,)``: whether it begins with <s>.
    """

    contexts: Tensor
    words: Tensor
    suffixes: Tensor
    counts: Tensor
    initial: Tensor
    context_number: int
    """C_k = M_{k-1}, and 1 for k = 1."""

    def sums(self, values: Tensor) -> Tensor:
        """Values of the k-grams ``(M_k,)`` summed over each context: ``(C_k,)``."""
        return values.new_zeros(self.context_number).index_add_(0, self.contexts, values)


@dataclass(frozen=True, eq=False)
class Counts:
    """The k-grams of a text for k = 1 to n, and which words can be predicted: ``(V,)`` bool, all but <pad> and <s>."""

    grams: Sequence[Grams]
    predictable: Tensor

    @property
    def words(self) -> int:
        """|V|: how many words can be predicted."""
        return int(self.predictable.sum())

    def below(self, order: int, probabilities: Sequence[Tensor]) -> Tensor:
        """p(w | h') of every k-gram hw of ``order`` k, ``(M_k,)``: h' is h without its first word; for k = 1, 1/|V|.

        ``probabilities``: those of the lower orders, the lowest first.
        """
        if order == 1:
            return self.predictable.double() / self.words
        return probabilities[order - 2][self.grams[order - 1].suffixes]


class Estimate(NamedTuple):
    """Probabilities in back-off form, float64: p(w | h) = p of hw if it was counted, else back-off(h) p(w | h')."""

    probabilities: list[Tensor]
    """For k = 1 to n: p(w | h) of the k-grams hw, ``(M_k,)``."""
    backoffs: list[Tensor]
    """For k = 1 to n - 1: the back-off weights of the k-grams as contexts, ``(M_k,)``; 1 if nothing followed."""


class Estimator(Protocol):
    """A way from counts to probabilities."""

    def __call__(self, counts: Counts) -> Estimate:
        """Probabilities that, for any context, sum to one over all words that can be predicted."""
        ...


def count_ngrams(tokens: Tensor, *, order: int, vocabulary: int) -> Counts:
    """Count the n-grams up to ``order`` of ``tokens (N,)``: sentences one after the other, each with its <s> and </s>.

    No n-gram crosses the border between two sentences.
    """
    tokens = tokens.long()
    words = torch.arange(vocabulary)
    predictable = (words != PAD) & (words != BOS)
    single = torch.zeros_like(words)
    counts = torch.bincount(tokens, minlength=vocabulary).where(predictable, single)
    grams = [Grams(single, words, single, counts, words == BOS, 1)]

    place = torch.arange(len(tokens))
    place = place - place.where(tokens == BOS, 0).cummax(dim=0).values  # in its sentence, from 0
    ids = tokens  # the index of the (k-1)-gram that ends here among all (k-1)-grams
    for length in range(2, order + 1):
        ends = (place >= length - 1).nonzero().squeeze(1)
        keys, inverse, counts = torch.unique(
            ids[ends - 1] * vocabulary + tokens[ends], return_inverse=True, return_counts=True
        )
        grams.append(
            Grams(
                contexts=keys // vocabulary,
                words=keys % vocabulary,
                suffixes=torch.empty_like(keys).index_put_((inverse,), ids[ends]),
                counts=counts,
                initial=torch.zeros_like(keys, dtype=torch.bool).index_put_((inverse,), place[ends] == length - 1),
                context_number=len(grams[-1].words),
            )
        )
        ids = torch.full_like(ids, -1).index_put_((ends,), inverse)
    return Counts(grams, predictable)


def counts_of_counts(counts: Tensor, most: int) -> list[int]:
    """[n_1, ..., n_most]: how many n-grams have the count 1, 2, ...; ``counts (M,)``, integers."""
    numbers: list[int] = torch.bincount(counts.clamp_max(most + 1), minlength=most + 2)[1 : most + 1].tolist()
    return numbers
