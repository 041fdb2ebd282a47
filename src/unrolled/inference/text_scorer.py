"""Scoring lines one by one, or as one continuous text."""

from collections.abc import Sequence
from typing import Protocol

import torch

from unrolled.data.continuous import StreamBatch
from unrolled.errors import UserError
from unrolled.inference.precision import autocast
from unrolled.inference.scored_pieces import Pieces
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.models.language_model import Nested
from unrolled.text.tokens import BOS, EOS


class Scorer(Protocol):
    """Computes log-probabilities of lines."""

    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """The pieces of each line, </s> last, with their natural log-probabilities."""


class TextScorer:
    """Scores lines as one text, the way models of continuous text are trained: line after line in one row.

    The state is carried from line to line, and from call to call; still, every line begins with <s> as input.
    """

    def __init__(self, trained: TrainedLanguageModel) -> None:
        self._trained = trained
        self._state: Nested = trained.model.zero_state(1)

    @torch.inference_mode()
    def score(self, lines: Sequence[str]) -> list[Pieces]:
        """The pieces of each line with their log-probabilities given all previous lines."""
        trained = self._trained
        encoded = trained.tokenizer.encode(lines)
        # x: <s> a b <s> c ..., y: a b </s> c </s> ...
        inputs = [token for ids in encoded for token in (BOS, *ids)]
        outputs = [token for ids in encoded for token in (*ids, EOS)]
        log_probs: list[float] = []
        for start in range(0, len(outputs), trained.max_tokens):
            window = slice(start, start + trained.max_tokens)
            target_in, target_out = (
                torch.tensor([tokens[window]], device=trained.device) for tokens in (inputs, outputs)
            )
            with autocast(trained.device, trained.precision):
                words = StreamBatch(target_in, target_out, first=False)
                of_window, self._state = trained.model.word_log_probs(words, self._state)
            log_probs += of_window[0].tolist()
        pieces = iter(zip(trained.tokenizer.pieces(outputs), log_probs, strict=True))
        return [[next(pieces) for _ in range(len(ids) + 1)] for ids in encoded]


def scorer(trained: TrainedLanguageModel, context: str | None) -> Scorer:
    """The scorer for ``context`` line or text; None: as the model was trained. UserError: anything else."""
    if context not in (None, "line", "text"):
        raise UserError(f"context={context} is unknown: give line or text, or omit it to score as the run was trained")
    if context is None and trained.continuous is None:
        raise UserError(
            f"{trained.name}: some were trained on separate lines, some on continuous text: give context=line or text"
        )
    return TextScorer(trained) if context == "text" or (context is None and trained.continuous) else trained
