"""Keeps what attention does at every validation, and a page to look at it: attention.jsonl and attention.html."""

import math
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.data.alignment import Links, read_alignments
from unrolled.data.subwords import piece_links
from unrolled.errors import UserError
from unrolled.training import record
from unrolled.training.inference import attend
from unrolled.training.modules import Translation
from unrolled.training.page import PAGE, Shown, write_page
from unrolled.training.pictures import log_page

MAX_TOKENS = 2000
"""Padded positions of a batch that is read again."""


class AttentionRecord(Callback):
    """At validations and at test adds a snapshot of the first ``sentences`` lines to the record in ``folder``.

    The page is written anew each time, so that a run that is interrupted, or still going on, has one; W&B gets it at
    the end. ``name`` is the run's. A model that is no translator is left in peace.
    """

    def __init__(self, *, folder: str, name: str, sentences: int) -> None:
        if not isinstance(sentences, int) or sentences < 1:
            raise UserError(f"callbacks.attention_record.sentences={sentences}: give a whole number from 1")
        self.folder = Path(folder)
        self.name = name
        self.sentences = sentences
        self._alignments: dict[str, list[tuple[Links, Links]] | None] = {}

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """Training that begins, rather than goes on, begins a record."""
        if trainer.is_global_zero and trainer.global_step == 0:
            (self.folder / record.FILE).unlink(missing_ok=True)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """A snapshot of validation sentences."""
        self._add(trainer, module, "val")

    def on_test_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """A snapshot of test sentences; the page for W&B."""
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
            "epoch": trainer.current_epoch + 1 if split == "val" else None,
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
        lines = module.lines[split][: self.sentences]
        every_source, every_reference = data.sources(split), module.references[split]
        sources, references = [every_source[line] for line in lines], [every_reference[line] for line in lines]
        translations = module.hypotheses[split][: self.sentences]
        found = attend(
            module.model,
            data.source_tokenizer,
            data.target_tokenizer,
            [*sources, *sources],
            data.target_tokenizer.encode([*references, *translations]),
            device=module.device,
            max_tokens=MAX_TOKENS,
        )
        sentences = []
        for place, line in enumerate(lines):
            source, reference, translation = sources[place], references[place], translations[place]
            links = self._known_links(data, split, line, source, reference)
            targets = {
                "reference": record.target(found[place], reference, links),
                "translation": record.target(found[len(lines) + place], translation, None),
            }
            sentences.append({"line": line + 1, "text": source, "source": found[place].source, "targets": targets})
        return sentences

    def _known_links(
        self, data: Any, split: str, line: int, source: str, reference: str
    ) -> tuple[set[tuple[int, int]], set[tuple[int, int]]] | None:
        """(sure, possible) links between the pieces of a pair; None if the data has none."""
        if split not in self._alignments:
            path = data.alignments(split)
            self._alignments[split] = None if path is None else read_alignments(path)
        alignments = self._alignments[split]
        if alignments is None:
            return None
        words = data.source_tokenizer.words_of_pieces(source), data.target_tokenizer.words_of_pieces(reference)
        sure, possible = alignments[line]
        return piece_links(sure, *words), piece_links(possible, *words)
