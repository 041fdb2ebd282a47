"""What a translator does with a few sentences, at every validation: translations and alignment heat maps.

PNG files in the run folder in any case; a table and images in W&B if that logger is there.
"""

from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import WandbLogger
from torch import Tensor

from unrolled.data.batch import Batch
from unrolled.data.loader import encode_pairs
from unrolled.training.figures import alignment_figure, curves_figure, save_figure
from unrolled.training.modules import Translation


class Pictures(Callback):
    """Shows the first ``sentences`` lines of validation and test: what the model wrote and where it looked."""

    def __init__(self, *, folder: str, sentences: int) -> None:
        self.folder = Path(folder)
        self.sentences = sentences

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Pictures of validation sentences."""
        self._show(trainer, module, "val")

    def on_test_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Pictures of test sentences, and the curves."""
        self._show(trainer, module, "test")

    def _show(self, trainer: lightning.Trainer, module: Any, split: str) -> None:
        if not trainer.is_global_zero or not isinstance(module, Translation):
            return
        data: Any = trainer.datamodule  # type: ignore[attr-defined]
        sources = data.sources(split)[: self.sentences]
        hypotheses = module.hypotheses[split][: self.sentences]
        images = {}
        for line, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True), start=1):
            (batch,) = encode_pairs(data.source_tokenizer, data.target_tokenizer, [source], [hypothesis], max_tokens=1)
            weights = attention_weights(module, batch.to(module.device))
            figure = alignment_figure(
                data.source_tokenizer.pieces(batch.source[0].tolist()),
                data.target_tokenizer.pieces(batch.target_out[0].tolist()),
                weights.numpy(),
                title=f"{split}, line {line}",
            )
            path = self.folder / "figures" / f"{split}-{line}.png"
            save_figure(figure, path)
            images[f"{split}/alignment/{line}"] = path
        references = module.references[split][: self.sentences]
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                rows = [list(row) for row in zip(sources, hypotheses, references, strict=True)]
                _log_to_wandb(logger, split, rows, images, trainer.global_step)


def save_curves(folder: Path) -> None:
    """Draw ``folder``/metrics.csv into ``folder``/figures/curves.png, if there are curves."""
    if (folder / "metrics.csv").is_file():
        save_figure(curves_figure(folder / "metrics.csv"), folder / "figures" / "curves.png")


def _log_to_wandb(logger: WandbLogger, split: str, rows: list[list[str]], images: dict[str, Path], step: int) -> None:
    import wandb

    table = wandb.Table(columns=["source", "translation", "reference"], data=rows)
    pictures = {name: wandb.Image(str(path)) for name, path in images.items()}
    logger.experiment.log({f"{split}/samples": table, **pictures, "trainer/global_step": step})


@torch.no_grad()
def attention_weights(module: Translation, batch: Batch) -> Tensor:
    """The weights with which the model reads the one pair in ``batch`` (forced decoding), float32 on the CPU.

    ``(target length with </s>, source length with </s>)``.
    """
    _, weights = module.model(batch.source, batch.source_lengths, batch.target_in, batch.target_out_valid)
    return weights[0].float().cpu()
