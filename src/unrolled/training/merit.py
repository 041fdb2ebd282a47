"""The number by which early stopping and ``halve_on_plateau`` judge a validation: higher is better."""

from collections.abc import Mapping

MERIT = "merit"
ZERO_BLEU = 1.0
"""Less is chance: a translator that gives the same frequent words for every sentence scores a few hundredths."""

NONE_RIGHT = 100.0
"""The word error rate of a model that gets no line right."""


def merit(figures: Mapping[str, float], *, monitor: str, mode: str) -> float:
    """The monitored figure of a validation, negated if lower is better.

    While val/bleu is below ``ZERO_BLEU`` it says nothing, and -val/loss, which is less than any BLEU, replaces it.
    While no line is right, the word error rate says nothing either: then a lower loss is better.
    """
    if monitor == "val/word_error_rate" and figures[monitor] >= NONE_RIGHT:
        return -NONE_RIGHT - figures["val/loss"]
    if monitor == "val/bleu" and figures[monitor] < ZERO_BLEU:
        return -figures["val/loss"]
    return figures[monitor] if mode == "max" else -figures[monitor]
