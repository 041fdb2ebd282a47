"""What a translator does with a few sentences, at every validation: translations and alignment heat maps.

PNG files in the run folder in any case; a table and images in W&B if that logger is there. Of test sentences with known
alignments there are pictures of the reference too, with the known links.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger, WandbLogger

from unrolled.training.figures import alignment_figure, curves_figure, save_figure
from unrolled.training.inference import AttendedPair, attend
from unrolled.training.modules import Translation
from unrolled.training.samples import Alignment, samples


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
        shown = samples(module, data, split, self.sentences)
        look = partial(
            attend,
            module.model,
            data.source_tokenizer,
            data.target_tokenizer,
            [sample.source for sample in shown],
            device=module.device,
            max_tokens=1,
        )
        encode = data.target_tokenizer.encode
        paths = save_alignments(self.folder, split, look(encode([sample.translation for sample in shown])))
        images = {f"{split}/alignment/{line}": path for line, path in enumerate(paths, start=1)}
        alignments = [sample.alignment for sample in shown if sample.alignment is not None]
        if split == "test" and alignments:
            pairs = look(encode([sample.reference for sample in shown]))
            paths = save_alignments(self.folder, split, pairs, alignments)
            images |= {f"{split}/alignment/{line}-reference": path for line, path in enumerate(paths, start=1)}
        rows = [[sample.source, sample.translation, sample.reference] for sample in shown]
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                _log_to_wandb(logger, split, rows, images, trainer.global_step)


def save_alignments(
    folder: Path,
    split: str,
    pairs: Sequence[AttendedPair],
    alignments: Sequence[Alignment] | None = None,
    formats: Sequence[str] = ("png",),
) -> list[Path]:
    """Draw the first lines of a split into ``folder``/figures/SPLIT-LINE.png; returns the paths.

    With known ``alignments`` of their pieces they are references, drawn with the links into SPLIT-LINE-reference.png.
    """
    paths = []
    for line, pair in enumerate(pairs, start=1):
        title, name = f"{split}, line {line}", f"{split}-{line}"
        sure, possible = (set(), set()) if alignments is None else alignments[line - 1]
        if alignments is not None:
            title, name = f"{title}, reference", f"{name}-reference"
        figure = alignment_figure(pair.source, pair.target, pair.weights.numpy(), sure, title, possible)
        paths += [folder / "figures" / f"{name}.{form}" for form in formats]
        for path in paths[-len(formats) :]:
            save_figure(figure, path)
    return paths


def save_curves(folder: Path) -> None:
    """Draw ``folder``/metrics.csv into ``folder``/figures/curves.png, if there are curves."""
    if (folder / "metrics.csv").is_file():
        save_figure(curves_figure(folder / "metrics.csv"), folder / "figures" / "curves.png")


def _log_to_wandb(logger: WandbLogger, split: str, rows: list[list[str]], images: dict[str, Path], step: int) -> None:
    import wandb

    table = wandb.Table(columns=["source", "translation", "reference"], data=rows)
    pictures = {name: wandb.Image(str(path)) for name, path in images.items()}
    logger.experiment.log({f"{split}/samples": table, **pictures, "trainer/global_step": step})


def log_gradient_norms(loggers: Sequence[Logger], rows: list[list[float]], picture: Path, step: int) -> None:
    """In W&B, if it is among ``loggers``: a table of step, n, norm and pairs, and the curves so far."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            import wandb

            table = wandb.Table(columns=["step", "n", "norm", "pairs"], data=rows)
            shown = {"gradient_norms/table": table, "gradient_norms/curves": wandb.Image(str(picture))}
            logger.experiment.log({**shown, "trainer/global_step": step})


def log_page(loggers: Sequence[Logger], page: Path, step: int) -> None:
    """In W&B, if it is among ``loggers``: the page of attention, as it is."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            import wandb

            shown = wandb.Html(str(page), inject=False)  # injected, W&B's style would be a request
            logger.experiment.log({"attention/page": shown, "trainer/global_step": step})
