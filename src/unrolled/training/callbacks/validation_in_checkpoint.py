"""What a validation found, inside each checkpoint."""

from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback


class ValidationInCheckpoint(Callback):
    """Puts what validation found into each checkpoint, so that the best checkpoint says what it is the best of."""

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """``checkpoint["metrics"]``: val/* as plain numbers; ``checkpoint["translations"]``: lines, of a translator."""
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name[:4] == "val/"}
        checkpoint["metrics"] = metrics
        checkpoint["translations"] = list(module.hypotheses.get("val", [])) if hasattr(module, "hypotheses") else []
