"""The results of the last validation, inside each checkpoint."""

from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback


class ValidationInCheckpoint(Callback):
    """Adds the figures of the last validation to each checkpoint, so that the best one includes its own.

    ``validated``: the number of updates before that validation.
    """

    def __init__(self) -> None:
        self.validated = 0

    def state_dict(self) -> dict[str, Any]:
        """For a resumed training."""
        return {"validated": self.validated}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue."""
        self.validated = state_dict["validated"]

    def on_validation_end(self, trainer: lightning.Trainer, module: Any) -> None:
        """Note when it was."""
        self.validated = trainer.global_step

    def on_save_checkpoint(self, trainer: lightning.Trainer, module: Any, checkpoint: dict[str, Any]) -> None:
        """``checkpoint["metrics"]``: val/* as plain numbers; ``checkpoint["translations"]``: a translator's lines."""
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name[:4] == "val/"}
        checkpoint["metrics"] = metrics
        checkpoint["translations"] = list(module.hypotheses.get("val", [])) if hasattr(module, "hypotheses") else []
