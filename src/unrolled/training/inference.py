"""A trained run put to use: translating lines, scoring pairs, reading alignments."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_model
from torch import Tensor, nn

from unrolled.data.batch import Batch, Shared
from unrolled.data.loader import encode_pairs, encode_source, share
from unrolled.data.tokenizer import Tokenizer
from unrolled.errors import UserError
from unrolled.metrics.alignment import Links, links_from_weights, word_index, word_weights
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.models.translator import Translator
from unrolled.search.beam import Generator
from unrolled.search.ensemble import Ensemble, Mean
from unrolled.search.score import score
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
    """A pair as the model reads it: its pieces, </s> the last of each side, and ``weights (T, S)``, float32, CPU."""

    source: list[str]
    target: list[str]
    weights: Tensor


@torch.no_grad()
def attend(
    model: Translator,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    device: torch.device,
    max_tokens: int,
) -> list[AttendedPair]:
    """For each pair of text its pieces and the attention weights under forced decoding."""
    found: dict[int, AttendedPair] = {}
    for batch in encode_pairs(source_tokenizer, target_tokenizer, sources, targets, max_tokens=max_tokens):
        ids = batch.to(device)
        assert ids.source is not None
        assert ids.source_lengths is not None
        _, weights = model(ids.source, ids.source_lengths, ids.target_in, ids.target_out_valid)
        for row, line in enumerate(ids.index.tolist()):
            source = ids.source[row, : int(ids.source_lengths[row])].tolist()
            target = ids.target_out[row, : int(ids.target_lengths[row]) - 1].tolist()
            found[line] = AttendedPair(
                source=source_tokenizer.pieces(source),
                target=target_tokenizer.pieces(target),
                weights=weights[row, : len(target), : len(source)].float().cpu(),
            )
    return [found[line] for line in range(len(sources))]


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

    @torch.inference_mode()
    def translate(self, lines: Sequence[str]) -> list[str]:
        """Each line's best translation as text; an empty line gives an empty line."""
        found: dict[int, str] = {}
        for batch in encode_source(self.members[0].source_tokenizer, lines, max_tokens=self.max_tokens):
            hypotheses = self.search(self.generator, self._input(batch, lines))
            for line, hypothesis in zip(batch.index.tolist(), hypotheses, strict=True):
                found[line] = self.target_tokenizer.decode(hypothesis.tokens) if lines[line].strip() else ""
        return [found[line] for line in range(len(lines))]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[tuple[str, float]]]:
        """For each pair every target piece, </s> the last, with its natural log-probability."""
        found: dict[int, list[tuple[str, float]]] = {}
        first, target_tokenizer = self.members[0].source_tokenizer, self.target_tokenizer
        for batch in encode_pairs(first, target_tokenizer, sources, targets, max_tokens=self.max_tokens):
            scores = score(self.generator, self._input(batch, sources))
            for line, ids, row in zip(batch.index.tolist(), batch.target_out.tolist(), scores, strict=True):
                found[line] = list(zip(target_tokenizer.pieces(ids[: len(row)]), row, strict=True))
        return [found[line] for line in range(len(sources))]

    def likelihood(self, sources: Sequence[str], targets: Sequence[str]) -> LogLikelihood:
        """Log-likelihood of all targets given their sources, summed over tokens with </s>."""
        total = LogLikelihood()
        for pieces in self.score(sources, targets):
            total.add(-sum(log_p for _, log_p in pieces), len(pieces))
        return total

    def attend(self, sources: Sequence[str], targets: Sequence[str]) -> list[AttendedPair]:
        """For each pair its pieces and the weights under forced decoding, the mean of all members'.

        UserError: members that cut the source into different pieces.
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
        return [
            pairs[0]._replace(weights=torch.stack([pair.weights for pair in pairs]).mean(dim=0))
            for pairs in zip(*found, strict=True)
        ]

    def word_links(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """For each pair every target word's link to the source word that it looks at most, under forced decoding."""
        links = []
        for pair in self.attend(sources, targets):
            weights = word_weights(pair.weights.numpy(), word_index(pair.source), word_index(pair.target))
            links.append(links_from_weights(weights))
        return links
