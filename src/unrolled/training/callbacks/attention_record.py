"""Records the attention at every validation, with a page to view it: attention.jsonl and attention.html."""

import math
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.errors import POSITIVE_WHOLE, check
from unrolled.inference.attended_pairs import attend
from unrolled.inspection import record
from unrolled.inspection.page import PAGE, Shown, write_page
from unrolled.training.callbacks.samples import samples
from unrolled.training.epoch_number import epoch_number
from unrolled.training.loggers.media import log_page
from unrolled.training.translation import Translation

MAX_TOKENS = 2000
"""Padded positions of a batch for forced decoding."""


class AttentionRecord(Callback):
    """Adds a snapshot of the first ``sentences`` lines to the record in ``folder`` at every validation and at test.

    The page is rewritten each time, so that a run that is interrupted, or still training, has one; W&B gets it at the
    end. ``name`` is the name of the run. A model that is no translator is ignored. validations: whether to record at
    validations too, which takes much of the time of a short training.
    """

    def __init__(self, *, folder: str, name: str, sentences: int, validations: bool = True) -> None:
        check("callbacks.attention_record.sentences", sentences, POSITIVE_WHOLE)
        self.folder = Path(folder)
        self.name = name
        self.sentences = sentences
        self.validations = validations

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Start a new record with the first batch, unless the training is resumed."""
        if trainer.is_global_zero and trainer.global_step == batch_idx == 0:
            (self.folder / record.FILE).unlink(missing_ok=True)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Add a snapshot of validation sentences."""
        if self.validations:
            self._add(trainer, module, "val")

    def on_test_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Add a snapshot of test sentences, and log the page to W&B."""
        if self._add(trainer, module, "test"):
            log_page(trainer.loggers, self.folder / PAGE, trainer.global_step)

    def _add(self, trainer: lightning.Trainer, module: Any, split: str) -> bool:
        if not trainer.is_global_zero or not isinstance(module, Translation):
            return False
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        figures = {name: round(float(value), 6) for name, value in trainer.callback_metrics.items()}
        snapshot = {
            "run": self.name,
            "split": split,
            "step": trainer.global_step,
            "epoch": epoch_number(trainer) if split == "val" else None,
            "metrics": {
                name.removeprefix(f"{split}/"): value
                for name, value in figures.items()
                if name.startswith(f"{split}/") and math.isfinite(value)
            },
            "sentences": self._look(module, data, split),
        }
        write_page(self.folder / PAGE, [Shown(self.name, record.add(self.folder, snapshot))])
        return True

    def _look(self, module: Translation, data: Any, split: str) -> list[dict[str, Any]]:
        """The sentences of a snapshot."""
        shown = samples(module, data, split, self.sentences)
        pairs = attend(
            module.model,
            data.source_tokenizer,
            data.target_tokenizer,
            2 * [sample.source for sample in shown],
            data.target_tokenizer.encode([s.reference for s in shown] + [s.translation for s in shown]),
            device=module.device,
            max_tokens=MAX_TOKENS,
            inside=True,
        )
        return [
            {
                "line": sample.line + 1,
                "text": sample.source,
                "source": reference.source,
                "targets": {
                    "reference": record.target(reference, sample.reference, sample.alignment),
                    "translation": record.target(translation, sample.translation, None),
                },
            }
            for sample, reference, translation in zip(shown, pairs[: len(shown)], pairs[len(shown) :], strict=True)
        ]
