"""Training by counting: one pass over the text, then probabilities from the counts of its n-grams."""

import logging
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from unrolled.data.batch import Batch
from unrolled.data.continuous import StreamBatch
from unrolled.errors import UserError
from unrolled.ngram.model import NgramLanguageModel
from unrolled.text.tokens import BOS, EOS, PAD
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.loss import TokenLoss
from unrolled.training.schedule import constant

log = logging.getLogger(__name__)
FULL_PRECISION = ("32-true", "64-true", "bf16-mixed")  # the table is not rounded


class NothingToOptimise(Optimizer):
    """An optimiser whose steps change nothing; Lightning counts them to know the number of batches."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})

    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Count a batch."""


def sentences_of_rows(batches: list[Tensor], *, whole: bool) -> Tensor:
    """A continuous text from its batches ``(B, T)``, row after row, as sentences with <s> and </s>.

    If these are ``whole``, all of the text, each row continues where the previous one ended. Otherwise only the
    sentences count that end, and, after the first row, begin within a row.
    """
    rows = torch.cat(batches, dim=1)
    if not whole:
        ends = rows == EOS
        inside = ends.cumsum(1) > ends  # after the first </s> of the row
        inside[0] = True
        rows = rows.masked_fill(~(inside & (ends.flip(1).cumsum(1).flip(1) > 0)), PAD)
    text = rows.flatten()
    text = text[text != PAD]
    if not len(text):
        raise UserError(
            "n-grams are counted in whole sentences, and in the part of the text that has been read none ends: train "
            "for longer, or give a larger data.stream_steps"
        )
    begins = torch.cat([torch.ones(1, dtype=torch.bool), text[:-1] == EOS])
    # insert <s> before every word that begins a sentence
    sentences = text.new_full((len(text) + int(begins.sum()),), BOS)
    sentences[torch.arange(len(text)) + begins.cumsum(0)] = text
    return sentences


class Counting(LanguageModeling):
    """p(sentence) from counts: collects the target side in its first epoch, estimates before every validation of it.

    In later epochs nothing is counted, and the estimates remain those of the whole text. Validates and tests like
    `LanguageModeling`.
    """

    model: NgramLanguageModel  # type: ignore[assignment]

    def __init__(self, *, model: NgramLanguageModel, monitor: str, mode: str) -> None:
        super().__init__(
            model=model,
            optimizer=NothingToOptimise,
            schedule=constant,
            label_smoothing=0.0,
            monitor=monitor,
            mode=mode,
        )
        self.automatic_optimization = False
        self._tokens: list[Tensor] = []
        self._estimated = 0  # batches that the model's estimates include
        self._impossible = 0

    def on_fit_start(self) -> None:
        """UserError: several processes, each of which would have its own counts; half precision."""
        if self.trainer.world_size > 1:
            raise UserError(f"n-grams are counted by one process, not by {self.trainer.world_size}: use hardware=cpu")
        if self.trainer.precision not in FULL_PRECISION:
            raise UserError(f"trainer.precision={self.trainer.precision} would round the probabilities: omit it")

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Within the first epoch, the text so far too: a resumed training counts it with the rest."""
        super().on_save_checkpoint(checkpoint)
        whole = self.current_epoch > 0 or len(self._tokens) == self.trainer.num_training_batches
        checkpoint["counted"] = [] if whole else self._tokens

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take up the text so far."""
        super().on_load_checkpoint(checkpoint)
        self._tokens, self._estimated = checkpoint.get("counted", []), 0

    def training_step(self, batch: Batch | StreamBatch, batch_index: int) -> None:  # type: ignore[override]
        """Keep the sentences of the first epoch, <s> and </s> included."""
        if self.current_epoch == 0:
            if batch_index == 0:
                self._tokens, self._estimated = [], 0
            tokens = batch.target_out if isinstance(batch, StreamBatch) else batch.target[batch.target_valid]
            self._tokens.append(tokens.to("cpu", torch.int32))
        self.target_tokens += int(batch.target_out_valid.sum())
        optimizer: Any = self.optimizers()
        optimizer.step()

    def on_train_epoch_end(self) -> None:
        """Estimate, unless a validation has done so."""
        self._estimate()

    def on_validation_epoch_start(self) -> None:
        """Estimate from the counts so far."""
        self._estimate()
        super().on_validation_epoch_start()

    def _estimate(self) -> None:
        if len(self._tokens) == self._estimated:
            return
        start = time.monotonic()
        continuous = self._tokens[0].dim() == 2
        if continuous:
            batches = len(self.trainer.train_dataloader)  # type: ignore[arg-type]
            text = sentences_of_rows(self._tokens, whole=len(self._tokens) == batches)
        else:
            text = torch.cat(self._tokens)
        self.model.fit(text)
        self._estimated = len(self._tokens)
        sizes = ", ".join(map(str, self.model.sizes()))
        log.info("%d words counted; n-grams of 1, 2, ... words: %s", (text != BOS).sum(), sizes)
        log.info("probabilities estimated in %.1f s", time.monotonic() - start)

    # Measuring

    def loss(self, batch: Batch | StreamBatch) -> TokenLoss:
        """-log p(x_1 ... x_T </s>), looked up. Even in a continuous text, lines are independent of each other."""
        log_probs, state = self.model.word_log_probs(batch, self._state(batch))
        self._carry(batch, state)
        self._impossible += int((log_probs == -torch.inf).sum())
        nll = -log_probs.cpu().double().sum()
        return TokenLoss(nll, nll, int(batch.target_out_valid.sum()))

    def _start_evaluation(self) -> None:
        super()._start_evaluation()
        self._impossible = 0

    def _log_likelihood(self, split: str) -> None:
        super()._log_likelihood(split)
        if self._impossible:
            log.warning(
                "%s: %d words have probability 0, so the perplexity is infinite; smoothing gives every word some "
                "probability: model/estimator=kneser_ney, absolute, katz or add_alpha",
                split,
                self._impossible,
            )
