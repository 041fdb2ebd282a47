"""Using a trained translator, or several as an ensemble: translating, scoring, attending."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import torch

from unrolled.alignment.links import Links
from unrolled.data.batch import Batch, Shared
from unrolled.data.loader import encode_pairs, encode_source, share
from unrolled.errors import UserError
from unrolled.inference.attended_pairs import AttendedPair, attend
from unrolled.inference.precision import autocast
from unrolled.inference.scored_pieces import Pieces
from unrolled.metrics.attention_counts import AttentionCounts
from unrolled.models.translator import Translator
from unrolled.search.ensemble import Ensemble, Mean
from unrolled.search.forced import score
from unrolled.search.forced_scores import Lists
from unrolled.search.frozen_weights import inference
from unrolled.search.generator import Generator, Hypothesis, Search
from unrolled.search.settings import BeamSearch, Greedy, is_exact
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import split_words


class Output(NamedTuple):
    """A translation as text, and as the hypothesis of the search."""

    text: str
    hypothesis: Hypothesis


NOTHING = Output("", Hypothesis([], 0.0, 0.0, finished=True))


@dataclass(frozen=True)
class Member:
    """A translator in evaluation mode and the vocabulary of its sources."""

    model: Translator
    source_tokenizer: Tokenizer


@dataclass(frozen=True)
class TrainedTranslator:
    """A translator, or several as one, with their common target vocabulary and a search, on ``device``."""

    members: tuple[Member, ...]
    target_tokenizer: Tokenizer
    search: Search
    mean: Mean
    """How the predictions of several members are averaged."""
    device: torch.device
    max_tokens: int
    """Padded positions of a batch, on either side."""
    precision: str = "32-true"

    @property
    def generator(self) -> Generator:
        """What search runs."""
        models = [member.model for member in self.members]
        return models[0] if len(models) == 1 else Ensemble(models, self.mean)

    @property
    def attends(self) -> bool:
        """Whether all members have attention."""
        return all(member.model.attention is not None for member in self.members)

    @property
    def cut_alike(self) -> bool:
        """Whether all members read the same pieces of a source, so that their attention can be averaged."""
        return len({member.source_tokenizer.sha256 for member in self.members}) == 1

    def check_attention(self, option: str) -> None:
        """UserError, naming the ``option`` that needs weights, if members have no attention or no pieces in common."""
        name = option.partition("=")[0]
        if not self.attends:
            raise UserError(f"{option}: this run has no attention; omit {name}")
        if not self.cut_alike:
            raise UserError(
                f"{option}: these runs tokenize the source differently, so their attention cannot be averaged; omit "
                f"{name}"
            )

    def _input(self, batch: Batch, sources: Sequence[str]) -> Batch | Shared:
        """``batch``, which has the first member's ids, in the form that ``generator`` reads."""
        if len(self.members) == 1:
            return batch.to(self.device)
        others = [member.source_tokenizer for member in self.members[1:]]
        return share(batch, sources, others).to(self.device)

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Each line's best translation as text; a line without words gives an empty line."""
        return [best.text for best, *_ in self.translations(lines)]

    def translations(self, lines: Sequence[str], count: int = 1, *, scored: bool = False) -> list[list[Output]]:
        """The ``count`` best of each line, best first; a line without words, or without pieces, gets an empty one.

        ``scored``: their scores matter: after a search with rounded weights or among few words they are computed again.
        UserError: no n-best search.
        """
        if count > 1 and not isinstance(self.search, BeamSearch):
            raise UserError(f"nbest={count} needs a beam: use search=beam")
        translated: dict[int, list[Output]] = {}
        with autocast(self.device, self.precision):
            batches = encode_source(self.members[0].source_tokenizer, lines, max_tokens=self.max_tokens)
            searched = inference(self._search, self.search.weights)(self.generator, batches, lines, count)
            if scored:
                searched = inference(self._with_forced_scores)(self.generator, batches, lines, searched)
        for batch, lists in zip(batches, searched, strict=True):
            assert batch.source_lengths is not None
            pieces = (batch.source_lengths - 1).tolist()  # without </s>
            for line, number, hypotheses in zip(batch.index.tolist(), pieces, lists, strict=True):
                outputs = [Output(self.target_tokenizer.decode(h.tokens), h) for h in hypotheses]
                translated[line] = outputs if number and split_words(lines[line]) else [NOTHING]
        return [translated[line] for line in range(len(lines))]

    def _search(
        self, generator: Generator, batches: Sequence[Batch], lines: Sequence[str], count: int
    ) -> list[list[list[Hypothesis]]]:
        """The ``count`` best of each row of each batch."""
        inputs = [self._input(batch, lines) for batch in batches]
        if isinstance(self.search, BeamSearch):
            return [self.search.nbest(generator, given, count) for given in inputs]
        return [[[hypothesis] for hypothesis in self.search(generator, given)] for given in inputs]

    def _with_forced_scores(
        self, generator: Generator, batches: Sequence[Batch], lines: Sequence[str], searched: Sequence[Lists]
    ) -> list[Lists]:
        """``searched``, the result of `_search`, with the scores that the weights as they are give over all words."""
        search = self.search
        if not isinstance(search, BeamSearch | Greedy) or is_exact(search):
            return list(searched)  # somebody else's search, or one whose scores are these
        inputs = (self._input(batch, lines) for batch in batches)
        return [search.with_forced_scores(generator, *given) for given in zip(inputs, searched, strict=True)]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Pieces]:
        """The target pieces of each pair with their log-probabilities."""
        scored: dict[int, Pieces] = {}
        first, target_tokenizer = self.members[0].source_tokenizer, self.target_tokenizer
        for batch in encode_pairs(first, target_tokenizer, sources, targets, max_tokens=self.max_tokens):
            with autocast(self.device, self.precision):
                scores = score(self.generator, self._input(batch, sources))
            for line, ids, row in zip(batch.index.tolist(), batch.target_out.tolist(), scores, strict=True):
                scored[line] = list(zip(target_tokenizer.pieces(ids[: len(row)]), row, strict=True))
        return [scored[line] for line in range(len(sources))]

    def attend(
        self,
        sources: Sequence[str],
        targets: Sequence[str] | Sequence[Sequence[int]],
        *,
        inside: bool = False,
    ) -> list[AttendedPair]:
        """The pieces and attention weights of each pair under forced decoding; targets are text or ids from search.

        inside: with memory and gates. Several members give only the mean of their weights. UserError: members that cut
        the source differently.
        """
        first = self.members[0].source_tokenizer
        if sources and not self.cut_alike:
            raise UserError(
                "run=[...]: these runs tokenize the source differently, so their attention cannot be averaged"
            )
        by_member = [
            attend(
                member.model,
                first,
                self.target_tokenizer,
                sources,
                targets,
                device=self.device,
                max_tokens=self.max_tokens,
                inside=inside and len(self.members) == 1,
            )
            for member in self.members
        ]
        if len(by_member) == 1:
            return by_member[0]
        return [
            pairs[0]._replace(weights=torch.stack([pair.weights for pair in pairs]).mean(dim=0), memory_norms=None)
            for pairs in zip(*by_member, strict=True)
        ]

    def attention_figures(
        self, sources: Sequence[str], targets: Sequence[str], gold: Sequence[tuple[Links, Links]] | None
    ) -> dict[str, float]:
        """Figures on the attention under forced decoding, see `AttentionCounts.figures`.

        {} if a member has no attention, or if they cut the source differently.
        """
        counts = AttentionCounts()
        if not (self.attends and self.cut_alike):
            return {}
        for pair, known in zip(self.attend(sources, targets), gold or repeat(None), strict=False):
            counts.add(pair.weights.numpy(), pair.source_words, pair.target_words, known)
        return counts.figures()
