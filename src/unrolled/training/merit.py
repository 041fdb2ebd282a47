"""One number by which early stopping and ``halve_on_plateau`` judge a validation: the higher the better."""

from collections.abc import Mapping

MERIT = "merit"
ZERO_BLEU = 1.0
"""Less is chance: a translator that says the same frequent words of every sentence has some hundredths."""


def merit(figures: Mapping[str, float], *, monitor: str, mode: str) -> float:
    """The monitored one of a validation's ``figures``, with its sign changed where lower is better.

    While val/bleu is under ``ZERO_BLEU`` it says nothing, and -val/loss, which is less than any BLEU, stands for it.
    """
    if monitor == "val/bleu" and figures[monitor] < ZERO_BLEU:
        return -figures["val/loss"]
    return figures[monitor] if mode == "max" else -figures[monitor]
