"""A translator's output for a few sentences at every validation: translations and alignment heat maps.

PNG files always go to the run folder, and to the loggers that show pictures. Test sentences with known
alignments also get pictures of the reference with the known links.
"""

from functools import partial
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from unrolled.inference.attended_pairs import attend
from unrolled.inspection.heat_maps import save_alignments
from unrolled.training.callbacks.samples import samples
from unrolled.training.loggers.media import log_samples
from unrolled.training.translation import Translation


class Pictures(Callback):
    """Shows the first ``sentences`` lines of validation and test: the model's translations and where it looked.

    ``name`` is that of the run. validations: whether to draw at validations too, not only at the test.
    """

    def __init__(self, *, folder: str, sentences: int, name: str = "", validations: bool = True) -> None:
        self.folder = Path(folder)
        self.name = name
        self.sentences = sentences
        self.validations = validations

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Draw validation sentences."""
        if self.validations:
            self._show(trainer, module, "val")

    def on_test_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Draw test sentences."""
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
        lines = [sample.line for sample in shown]
        when = "best checkpoint" if split == "test" else f"step {trainer.global_step}"
        save = partial(save_alignments, run=", ".join(filter(None, [self.name, when])))
        encode = data.target_tokenizer.encode
        paths = save(self.folder, split, lines, look(encode([sample.translation for sample in shown])))
        images = {f"{split}/alignment/{line + 1}": path for line, path in zip(lines, paths)}
        alignments = [sample.alignment for sample in shown if sample.alignment is not None]
        if split == "test" and alignments:
            pairs = look(encode([sample.reference for sample in shown]))
            paths = save(self.folder, split, lines, pairs, alignments)
            images |= {f"{split}/alignment/{line + 1}-reference": path for line, path in zip(lines, paths)}
        rows = [[sample.source, sample.translation, sample.reference] for sample in shown]
        log_samples(trainer.loggers, split, rows, images, trainer.global_step)
