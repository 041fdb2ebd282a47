"""How far back a word's loss reaches: ||dJ_{t+n}/dh_t|| against n, measured at validations (Cho's lecture).

J_{t+n} is the loss of ONE word, -log p of the word that state h_{t+n} predicts, so that n = 0 is the readout alone and
every n more is one more transition. h_t is all that a step hands to the next: of an LSTM h and c, of several layers all
of them, of a decoder its own state s (paths through the attention to later states included, its memory not).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn

from unrolled.data.batch import Batch
from unrolled.errors import POSITIVE_WHOLE, check
from unrolled.figures.formats import save_figure
from unrolled.figures.gradient_curves import FILE, Row, comparison_figure, norms_figure, read_rows, write_rows
from unrolled.models.trace import Recurrent
from unrolled.text.tokens import PAD
from unrolled.training.loggers.wandb import log_gradient_norms


class Norm(NamedTuple):
    """The mean of ||dJ_{t+n}/dh_t|| over ``pairs`` pairs of a word and a state."""

    n: int
    norm: float
    pairs: int


class GradientNorms(Callback):
    """Measures before training and at validations; ``folder`` gets gradient_norms.csv and figures/gradient-norms.png.

    Seen are ``sentences`` long sentences of the validation set, their first ``steps`` words at most, and the losses of
    ``words`` words of each: as many backward passes. A run in the folder ``sweep`` also redraws that folder's
    gradient-norms.png from what all its runs have measured. A model without recurrent states is left in peace.
    Neither parameters, gradients, mode nor random state are touched.
    """

    def __init__(self, *, folder: str, sweep: str | None, sentences: int, steps: int, words: int) -> None:
        for name, value in {"sentences": sentences, "steps": steps, "words": words}.items():
            check(f"callbacks.gradient_norms.{name}", value, POSITIVE_WHOLE)
        self.folder = Path(folder)
        self.sweep = None if sweep is None else Path(sweep)
        self.sentences = sentences
        self.steps = steps
        self.words = words
        self._batch: Batch | None = None

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        """What the initial parameters do."""
        if trainer.global_step == 0:
            self._show(trainer, module)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """What training has made of it."""
        if not trainer.sanity_checking:
            self._show(trainer, module)

    def _show(self, trainer: lightning.Trainer, module: Any) -> None:
        if not trainer.is_global_zero or not isinstance(module.model, Recurrent):
            return
        with torch.inference_mode(False), torch.enable_grad():
            if self._batch is None:
                data: Any = trainer.datamodule  # type: ignore[attr-defined]
                self._batch = excerpt(data.val_dataloader(), sentences=self.sentences, steps=self.steps)
            norms = gradient_norms(module.model, self._batch.to(module.device), words=self.words)
        step = trainer.global_step
        rows = [row for row in read_rows(self.folder / FILE) if row.step != step]
        rows += [Row(step, *norm) for norm in norms]
        write_rows(self.folder / FILE, rows)
        picture = self.folder / "figures" / "gradient-norms.png"
        save_figure(norms_figure(rows), picture)
        log_gradient_norms(trainer.loggers, [list(row) for row in rows if row.step == step], picture, step)
        if self.sweep is not None and self.sweep.resolve() == self.folder.resolve().parent:
            runs = {path.parent.name: read_rows(path) for path in sorted(self.sweep.glob(f"*/{FILE}"))}
            measured = {name: found for name, found in runs.items() if found}
            save_figure(comparison_figure(measured), self.sweep / "gradient-norms.png")


def excerpt(batches: Any, *, sentences: int, steps: int) -> Batch:
    """The first rows of the first batch whose rows have ``steps`` words, or of the longest; no more than ``steps``.

    A row that is alone, such as a continuous text, is cut into several.
    """
    longest: Any = max(batches, key=lambda batch: min(batch.target_in.shape[1], steps))
    target = torch.cat([longest.target_in[:, :1], longest.target_out], dim=1)
    source = getattr(longest, "source", None)
    if source is None and len(target) == 1 and target.shape[1] > steps:
        target = target.unfold(1, steps + 1, steps).flatten(0, 1)  # a piece begins with the last word of the one before
    target = target[:sentences, : steps + 1]
    return Batch(
        source=None if source is None else source[:sentences],
        source_lengths=None if source is None else longest.source_lengths[:sentences],
        target=target,
        target_lengths=(target != PAD).sum(dim=1).cpu(),
        index=torch.arange(len(target)),
    )


def gradient_norms(model: Any, batch: Batch, *, words: int) -> list[Norm]:
    """For n = 0, 1, 2 ... the mean of ||dJ_{t+n}/dh_t|| over sentences and t, with autograd on.

    J are the losses of ``words`` words of each sentence, evenly spread, the last among them. Sums are in float64: a
    norm of 1e-30 has squares that float32 has not.
    """
    with evaluating(model):
        states, log_probs = model.trace(batch)
    lengths = batch.target_out_valid.sum(dim=1)
    steps = torch.arange(len(states), device=lengths.device).unsqueeze(1)
    sums = log_probs.new_zeros(len(states), dtype=torch.float64)
    counts = torch.zeros_like(sums)
    before = torch.full_like(lengths, -1)
    for part in range(1, words + 1):
        # the last position of the first part/words of each sentence; a short sentence has fewer of them
        ends = (lengths * part + words - 1) // words - 1
        fresh, before = ends > before, ends
        # rows know nothing of each other, so that one backward pass gives dJ_{t+n}/dh_t of all rows and all t
        loss = -log_probs.gather(1, ends.unsqueeze(1)).squeeze(1)[fresh].sum()
        norms = torch.stack(_norms(loss, states))
        n = ends - steps
        seen = (n >= 0) & fresh
        sums.index_add_(0, n[seen], norms[seen])
        counts.index_add_(0, n[seen], torch.ones_like(norms[seen]))
    means = zip(sums.tolist(), counts.tolist(), strict=True)
    return [Norm(n, total / count, int(count)) for n, (total, count) in enumerate(means) if count]


def _norms(loss: Tensor, states: list[tuple[Tensor, ...]]) -> list[Tensor]:
    """||dloss/dh_t|| of each row ``(B,)``, for each of the states, over all their tensors together."""
    flat = [part for state in states for part in state]
    gradients = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    found = []
    for state in states:
        parts = [torch.zeros_like(part) if d is None else d for part, d in zip(state, gradients)]
        found.append(torch.linalg.vector_norm(torch.cat(parts, dim=1).double(), dim=1))
    return found


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """``model`` in evaluation mode; afterwards every part in the mode that it had."""
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, mode in modes.items():
            part.training = mode
