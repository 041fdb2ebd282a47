"""Using a trained language model."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from unrolled.data.batch import make_source_batch
from unrolled.data.loader import encode_sentences
from unrolled.inference.precision import autocast
from unrolled.inference.scored_pieces import Pieces
from unrolled.models.language_model import LanguageModel
from unrolled.search.sampling import Sampling
from unrolled.text.tokenizer import Tokenizer


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
    """The short name of its run."""
    continuous: bool | None = False
    """Whether it was trained on lines as one text, each the history of the next; None for a mixture of both kinds."""

    @torch.inference_mode()
    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """The pieces of each line, by itself, with their log-probabilities."""
        scored: dict[int, Pieces] = {}
        for batch in encode_sentences(self.tokenizer, lines, max_tokens=self.max_tokens):
            words = batch.to(self.device)
            with autocast(self.device, self.precision):
                log_probs, _ = self.model.word_log_probs(words, self.model.start(words))
            rows = zip(batch.index.tolist(), batch.target_lengths.tolist(), strict=True)
            for (line, length), ids, row in zip(rows, batch.target_out.tolist(), log_probs.tolist(), strict=True):
                end = length - 1  # with </s>, without <s>
                scored[line] = list(zip(self.tokenizer.pieces(ids[:end]), row[:end], strict=True))
        return [scored[line] for line in range(len(lines))]

    def sample(self, sampling: Sampling, number: int, *, max_length: int) -> list[str]:
        """``number`` sentences of at most ``max_length`` tokens, with </s>, drawn at once."""
        batch = make_source_batch([[]] * number, range(number))  # <s> alone
        with autocast(self.device, self.precision):
            drawn = sampling.draw(self.model, batch.to(self.device), torch.full((number,), max_length))
        return [self.tokenizer.decode(hypothesis.tokens) for hypothesis in drawn]
