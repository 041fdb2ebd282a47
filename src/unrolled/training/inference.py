"""A trained run put to use: translating lines, scoring them, reading alignments."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_model
from torch import Tensor, nn

from unrolled.data.alignment import Links
from unrolled.data.batch import Batch, Shared
from unrolled.data.loader import encode_pairs, encode_sentences, encode_source, pair_batches, share
from unrolled.data.subwords import word_index, word_weights
from unrolled.data.tokenizer import Tokenizer
from unrolled.errors import UserError
from unrolled.metrics.alignment import links_from_weights
from unrolled.metrics.attention import AttentionCounts
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.models.attended import attended
from unrolled.models.language_model import LanguageModel
from unrolled.models.translator import Translator
from unrolled.search.ensemble import Ensemble, Mean
from unrolled.search.generator import Generator, Hypothesis
from unrolled.search.score import score
from unrolled.search.settings import BeamSearch
from unrolled.training.modules import Search


def load_weights(model: nn.Module, folder: Path) -> None:
    """Fill ``model`` from the run ``folder``: its weights.safetensors or, while there are none, its checkpoints."""
    if (folder / "weights.safetensors").is_file():
        load_model(model, str(folder / "weights.safetensors"))
        return
    for name in ("best.ckpt", "last.ckpt"):
        path = folder / "checkpoints" / name
        if path.is_file():
            state = torch.load(path, map_location="cpu", weights_only=True)["state_dict"]
            model.load_state_dict({key.removeprefix("model."): value for key, value in state.items()})
            return
    raise UserError(f"run={folder}: there are no weights (weights.safetensors or checkpoints/); train the run first")


class AttendedPair(NamedTuple):
    """A pair as the model reads it: its pieces, </s> the last of each side, and ``weights (T, S)``, float32, CPU.

    ``memory_norms (T, S)``: of the attention's memory at each source position after each step, see `attended`; None
    where it has none.
    """

    source: list[str]
    target: list[str]
    weights: Tensor
    source_words: list[int]
    """The word that each source piece belongs to, without </s>."""
    target_words: list[int]
    """The same of the target."""
    memory_norms: Tensor | None = None
    """``(T, S)``, see `unrolled.models.attended`."""


def word_links(pair: AttendedPair) -> Links:
    """Every target word's link to the source word that it looks at most."""
    weights = word_weights(pair.weights.numpy(), [*pair.source_words, -1], [*pair.target_words, -1])
    return links_from_weights(weights)


@torch.no_grad()
def attend(
    model: Translator,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[Sequence[int]] | Sequence[str],
    *,
    device: torch.device,
    max_tokens: int,
) -> list[AttendedPair]:
    """For each line and its translation, text or ids, the pieces and what the attention does under forced decoding."""
    ids_of = [target_tokenizer.encode([each])[0] if isinstance(each, str) else each for each in targets]
    found: dict[int, AttendedPair] = {}
    for batch in pair_batches(source_tokenizer.encode(sources), ids_of, max_tokens=max_tokens):
        ids = batch.to(device)
        assert ids.source is not None
        assert ids.source_lengths is not None
        weights, norms = attended(model, ids.source, ids.source_lengths, ids.target_in)
        for row, line in enumerate(ids.index.tolist()):
            source = ids.source[row, : int(ids.source_lengths[row])].tolist()
            target = ids.target_out[row, : int(ids.target_lengths[row]) - 1].tolist()
            pieces, text = target_tokenizer.pieces(target), targets[line]
            # what a search has put together from pieces may not be what the tokenizer makes of their text
            words = target_tokenizer.words_of_pieces(text) if isinstance(text, str) else word_index(pieces)[:-1]
            part = (row, slice(len(target)), slice(len(source)))
            found[line] = AttendedPair(
                source=source_tokenizer.pieces(source),
                target=pieces,
                weights=weights[part].float().cpu(),
                source_words=source_tokenizer.words_of_pieces(sources[line]),
                target_words=words,
                memory_norms=None if norms is None else norms[part].cpu(),
            )
    return [found[line] for line in range(len(sources))]


class Output(NamedTuple):
    """A translation as text, and as search found it."""

    text: str
    hypothesis: Hypothesis


def autocast(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """Products in ``precision``, in Lightning's words: 32-true, bf16-mixed or 16-mixed. UserError for any other."""
    dtypes = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
    if precision not in dtypes:
        raise UserError(f"precision={precision} is unknown: give {', '.join(dtypes)}")
    dtype = dtypes[precision]
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


Pieces = list[tuple[str, float]]
"""A sentence's pieces, </s> the last, each with its natural log-probability."""


def total(scored: Iterable[Pieces]) -> LogLikelihood:
    """The log-likelihood of all sentences, summed over tokens with </s>."""
    likelihood = LogLikelihood()
    for pieces in scored:
        likelihood.add(-sum(log_p for _, log_p in pieces), len(pieces))
    return likelihood


@dataclass(frozen=True)
class TrainedLanguageModel:
    """A language model in evaluation mode on ``device``, and its vocabulary."""

    model: LanguageModel
    tokenizer: Tokenizer
    device: torch.device
    max_tokens: int
    """Padded positions of a batch."""
    precision: str = "32-true"
    name: str = ""
    """Of its run, short."""
    continuous: bool | None = False
    """Whether it was trained on lines as one text, each the history of the next; None of a mixture of both kinds."""

    @torch.inference_mode()
    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """For each line, by itself, every piece with its log-probability."""
        found: dict[int, Pieces] = {}
        for batch in encode_sentences(self.tokenizer, lines, max_tokens=self.max_tokens):
            words = batch.to(self.device)
            with autocast(self.device, self.precision):
                log_probs, _ = self.model.word_log_probs(words, self.model.start(words))
            rows = zip(batch.index.tolist(), batch.target_lengths.tolist(), strict=True)
            for (line, length), ids, row in zip(rows, batch.target_out.tolist(), log_probs.tolist(), strict=True):
                end = length - 1  # with </s>, without <s>
                found[line] = list(zip(self.tokenizer.pieces(ids[:end]), row[:end], strict=True))
        return [found[line] for line in range(len(lines))]


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
    """Of the members' predictions, where there are several."""
    device: torch.device
    max_tokens: int
    """Padded positions of a batch, on either side."""
    precision: str = "32-true"

    @property
    def generator(self) -> Generator:
        """What search drives."""
        models = [member.model for member in self.members]
        return models[0] if len(models) == 1 else Ensemble(models, self.mean)

    def _input(self, batch: Batch, sources: Sequence[str]) -> Batch | Shared:
        """``batch``, in the first member's ids, as ``generator`` reads it."""
        if len(self.members) == 1:
            return batch.to(self.device)
        others = [member.source_tokenizer for member in self.members[1:]]
        return share(batch, sources, others).to(self.device)

    def translate(self, lines: Sequence[str]) -> list[str]:
        """Each line's best translation as text; an empty line gives an empty line."""
        return [best.text for best, *_ in self.translations(lines)]

    @torch.inference_mode()
    def translations(self, lines: Sequence[str], count: int = 1) -> list[list[Output]]:
        """The ``count`` best of each line, best first; an empty line has an empty one. UserError: no n-best search."""
        if count > 1 and not isinstance(self.search, BeamSearch):
            raise UserError(f"nbest={count} needs a beam: take search=beam")
        found: dict[int, list[Output]] = {}
        for batch in encode_source(self.members[0].source_tokenizer, lines, max_tokens=self.max_tokens):
            given = self._input(batch, lines)
            with autocast(self.device, self.precision):
                if isinstance(self.search, BeamSearch):
                    lists = self.search.nbest(self.generator, given, count)
                else:
                    lists = [[hypothesis] for hypothesis in self.search(self.generator, given)]
            for line, hypotheses in zip(batch.index.tolist(), lists, strict=True):
                outputs = [Output(self.target_tokenizer.decode(h.tokens), h) for h in hypotheses]
                found[line] = outputs if lines[line].strip() else [NOTHING]
        return [found[line] for line in range(len(lines))]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Pieces]:
        """For each pair every target piece with its log-probability."""
        found: dict[int, Pieces] = {}
        first, target_tokenizer = self.members[0].source_tokenizer, self.target_tokenizer
        for batch in encode_pairs(first, target_tokenizer, sources, targets, max_tokens=self.max_tokens):
            with autocast(self.device, self.precision):
                scores = score(self.generator, self._input(batch, sources))
            for line, ids, row in zip(batch.index.tolist(), batch.target_out.tolist(), scores, strict=True):
                found[line] = list(zip(target_tokenizer.pieces(ids[: len(row)]), row, strict=True))
        return [found[line] for line in range(len(sources))]

    def attend(self, sources: Sequence[str], targets: Sequence[str] | Sequence[Sequence[int]]) -> list[AttendedPair]:
        """For each pair, the target as text or as ids that search found, its pieces and weights under forced decoding.

        Of several members the mean of their weights alone. UserError: members that cut the source differently.
        """
        first = self.members[0].source_tokenizer
        if any(member.source_tokenizer.sha256 != first.sha256 for member in self.members):
            raise UserError("run=[...]: these runs cut the source differently, so that their attention has no mean")
        found = [
            attend(
                member.model,
                first,
                self.target_tokenizer,
                sources,
                targets,
                device=self.device,
                max_tokens=self.max_tokens,
            )
            for member in self.members
        ]
        if len(found) == 1:
            return found[0]
        return [
            pairs[0]._replace(weights=torch.stack([pair.weights for pair in pairs]).mean(dim=0), memory_norms=None)
            for pairs in zip(*found, strict=True)
        ]

    def attention_figures(
        self, sources: Sequence[str], targets: Sequence[str], gold: Sequence[tuple[Links, Links]] | None
    ) -> dict[str, float]:
        """What the attention is like under forced decoding, see `AttentionCounts.figures`; none of a model without."""
        counts = AttentionCounts()
        if all(member.model.attention is None for member in self.members):
            return {}
        for pair, known in zip(self.attend(sources, targets), gold or repeat(None), strict=False):
            counts.add(pair.weights.numpy(), pair.source_words, pair.target_words, known)
        return counts.figures()
