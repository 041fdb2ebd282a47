"""Which epoch a line, a row or a picture belongs to."""

import lightning
from lightning.pytorch.trainer.states import TrainerFn


def epoch_number(trainer: lightning.Trainer) -> int:
    """The number of the epoch, from 1, that is trained in or was validated; after training, of the last one."""
    return trainer.current_epoch + (trainer.state.fn == TrainerFn.FITTING)
