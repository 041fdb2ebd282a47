"""How far back a word's loss reaches: ||dJ_{t+n}/dh_t|| against n, measured at validations (Cho's lecture).

J_{t+n} is the loss of ONE word, -log p of the word that state h_{t+n} predicts, so n = 0 is the readout alone and each
further n is one more transition; RNNsearch's readout reads the state before, so its norm at n = 0 is 0. h_t is
everything that a step hands to the next: h and c of an LSTM, all layers of several, a decoder's own state s (including
paths through the attention to later states, but not the attention memory).
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
from unrolled.data.continuous import StreamBatch
from unrolled.errors import POSITIVE_WHOLE, check
from unrolled.figures.formats import save_figure
from unrolled.figures.gradient_curves import FILE, Row, comparison_figure, norms_figure, read_rows, write_rows
from unrolled.models.trace import Recurrent
from unrolled.text.tokens import PAD
from unrolled.training.loggers.media import log_gradient_norms


class Norm(NamedTuple):
    """The mean of ||dJ_{t+n}/dh_t|| over ``pairs`` pairs of a word and a state."""

    n: int
    norm: float
    pairs: int


class GradientNorms(Callback):
    """Measures before training and at validations; ``folder`` gets gradient_norms.csv and figures/gradient-norms.png.

    It reads ``sentences`` long sentences of the validation set, at most their first ``steps`` words, and the losses of
    ``words`` words of each, with one backward pass per word. A run in the folder ``sweep`` also redraws that folder's
    gradient-norms.png from the measurements of all its runs. A model without recurrent states is ignored. Parameters,
    gradients, mode and random state do not change.
    """

    def __init__(self, *, folder: str, sweep: str | None, sentences: int, steps: int, words: int) -> None:
        for name, value in {"sentences": sentences, "steps": steps, "words": words}.items():
            check(f"callbacks.gradient_norms.{name}", value, POSITIVE_WHOLE)
        self.folder = Path(folder)
        self.sweep = None if sweep is None else Path(sweep)
        self.sentences = sentences
        self.steps = steps
        self.words = words
        self._batch: Batch | StreamBatch | None = None

    def on_train_batch_start(self, trainer: lightning.Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Measure the initial parameters."""
        if trainer.global_step == batch_idx == 0:
            self._show(trainer, module)

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Measure the parameters trained so far."""
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
            measured = {name: rows for name, rows in runs.items() if rows}
            save_figure(comparison_figure(measured), self.sweep / "gradient-norms.png")


def excerpt(batches: Any, *, sentences: int, steps: int) -> Batch | StreamBatch:
    """The first rows of the first batch whose rows have ``steps`` words, or of the longest batch; at most ``steps``.

    A single row, such as a continuous text, is cut into several.
    """
    longest: Any = max(batches, key=lambda batch: min(batch.target_in.shape[1], steps))
    source = getattr(longest, "source", None)
    read, predicted = longest.target_in, longest.target_out
    if source is None and len(read) == 1 and read.shape[1] > steps:
        # a piece begins with the previous one's last word
        read, predicted = (words.unfold(1, steps, steps).flatten(0, 1) for words in (read, predicted))
    read, predicted = read[:sentences, :steps], predicted[:sentences, :steps]
    if isinstance(longest, StreamBatch):  # it predicts </s> between lines, and reads <s> in its place
        return StreamBatch(read, predicted, first=True)
    target = torch.cat([read[:, :1], predicted], dim=1)
    return Batch(
        source=None if source is None else source[:sentences],
        source_lengths=None if source is None else longest.source_lengths[:sentences],
        target=target,
        target_lengths=(target != PAD).sum(dim=1).cpu(),
        index=torch.arange(len(target)),
    )


def gradient_norms(model: Any, batch: Batch | StreamBatch, *, words: int) -> list[Norm]:
    """For n = 0, 1, 2 ... the mean of ||dJ_{t+n}/dh_t|| over sentences and t, with autograd on.

    J are the losses of ``words`` evenly spread words of each sentence, including the last. Sums are in float64: float32
    cannot represent the square of a norm of 1e-30.
    """
    with evaluating(model):
        states, log_probs = model.trace(batch)
    lengths = batch.target_out_valid.sum(dim=1)
    steps = torch.arange(len(states), device=lengths.device).unsqueeze(1)
    sums = log_probs.new_zeros(len(states), dtype=torch.float64)
    counts = torch.zeros_like(sums)
    before = torch.full_like(lengths, -1)
    for number in range(1, words + 1):
        # the last position of the first number/words of each sentence; a short sentence has fewer of them
        ends = (lengths * number + words - 1) // words - 1
        fresh, before = ends > before, ends
        # rows are independent, so one backward pass gives dJ_{t+n}/dh_t for all rows and all t
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
    flat = [tensor for state in states for tensor in state]
    gradients = iter(torch.autograd.grad(loss, flat, retain_graph=True, allow_unused=True))
    norms = []
    for state in states:
        dh = [torch.zeros_like(tensor) if d is None else d for tensor, d in zip(state, gradients)]
        norms.append(torch.linalg.vector_norm(torch.cat(dh, dim=1).double(), dim=1))
    return norms


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """``model`` in evaluation mode; afterwards every module is back in its former mode."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
