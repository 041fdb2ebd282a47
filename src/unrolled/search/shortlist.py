"""A soft-max over few words: those that are likely for the source words of a batch, and the most frequent.

Jean et al. 2015 (On Using Very Large Target Vocabulary, section 3.3), L'Hostis et al. 2016 (Vocabulary Selection
Strategies). N rows, V words of the shortlist.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from unrolled.errors import UserError
from unrolled.models.fast.frozen import narrowed, one_thread
from unrolled.models.translator import Translator
from unrolled.search.forced_scores import Lists
from unrolled.search.frozen_weights import models
from unrolled.search.generator import Generator

SPECIAL = 4  # <pad>, <s>, </s>, <unk>: they keep their ids


@dataclass(frozen=True, eq=False)
class Shortlist:
    """likely (source pieces, most): ids of each source piece's likeliest translations, -1 where there are fewer.

    frequent: ids of the most frequent target pieces.
    """

    likely: Tensor
    frequent: Tensor

    def words(self, source: Tensor) -> Tensor:
        """The ids ``(V,)``, ascending, for a batch with ``source (B, S)``."""
        likely = self.likely[source.cpu().unique()].flatten()
        every = torch.cat([torch.arange(SPECIAL), likely[likely >= 0], self.frequent])
        return every.unique()


class Shortlisted:
    """``generator`` over ``words (V,)`` alone: for ``step``, a word is its index in this list."""

    def __init__(self, generator: Any, words: Tensor) -> None:
        self.members = (generator,)
        self.words = words

    def start(self, batch: Any) -> Any:
        """The generator's state."""
        return self.members[0].start(batch)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Previous words ``(N,)`` -> log-probabilities ``(N, V)`` of a soft-max over the list, next state."""
        stepped: tuple[Tensor, Any] = self.members[0].step(self.words[tokens], state)
        return stepped

    def attend(self, tokens: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        """The same with the generator's attention weights ``(N, S)``."""
        stepped: tuple[Tensor, Tensor, Any] = self.members[0].attend(self.words[tokens], state)
        return stepped


def search_among(
    generator: Generator,
    batch: Any,
    shortlist: Shortlist,
    search: Callable[[Generator], Lists],
    *,
    int8: bool,
) -> Lists:
    """What ``search`` finds among the words of ``shortlist`` for ``batch``, best first.

    ``search`` gets a generator over fewer words, so its log-probabilities are too high; `with_forced_scores` has those
    over all words. UserError: a generator that is no translator.
    """
    networks = list(models(generator))
    outputs = [model.readout.output for model in networks if isinstance(model, Translator)]
    if not outputs or len(outputs) < len(networks):
        raise UserError("search.shortlist is for translators: omit it")
    source = getattr(batch, "members", (batch,))[0].source
    words = shortlist.words(source).to(source.device)
    with one_thread(models(generator)), narrowed(outputs, words, int8=int8):
        lists = search(Shortlisted(generator, words))
    ids = words.tolist()
    return [[replace(h, tokens=[ids[token] for token in h.tokens]) for h in hypotheses] for hypotheses in lists]
