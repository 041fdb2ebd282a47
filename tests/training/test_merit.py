"""What early stopping and halve_on_plateau judge by."""

import pytest
import torch

from unrolled.training.merit import merit
from unrolled.training.schedule import halve_on_plateau

BY_BLEU = {"monitor": "val/bleu", "mode": "max"}


def test_while_bleu_is_zero_a_lower_loss_is_better():
    validations = [{"val/bleu": bleu, "val/loss": loss} for bleu, loss in [(0.007, 6.2), (0.0, 6.1), (0.003, 4.0)]]
    merits = [merit(figures, **BY_BLEU) for figures in validations]
    assert merits == sorted(merits)
    assert len(set(merits)) == 3


def test_any_real_bleu_is_better_than_none_and_then_counts_alone():
    found = [
        merit({"val/bleu": bleu, "val/loss": loss}, **BY_BLEU) for bleu, loss in [(0.9, 0.1), (1.5, 5.0), (2.0, 6.0)]
    ]
    assert found == sorted(found)


def test_while_no_word_is_right_a_lower_loss_is_better_than_a_higher_and_any_right_word_better_than_both():
    found = [
        merit({"val/word_error_rate": rate, "val/loss": loss}, monitor="val/word_error_rate", mode="min")
        for rate, loss in [(100.0, 4.0), (100.0, 3.0), (99.0, 5.0), (12.0, 6.0)]
    ]
    assert found == sorted(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize(("monitor", "mode", "better"), [("val/loss", "min", 1.0), ("val/chrf", "max", 3.0)])
def test_other_figures_count_as_they_are(monitor, mode, better):
    values = {value: merit({monitor: value, "val/loss": value}, monitor=monitor, mode=mode) for value in (1.0, 3.0)}
    assert max(values, key=values.__getitem__) == better


def test_the_rate_is_not_halved_while_the_loss_falls_at_no_bleu():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = halve_on_plateau(
        optimizer, monitor="merit", mode="max", length=None, patience=0, factor=0.5, minimum=0.1
    )
    for loss in (6.0, 5.5, 5.0, 4.5):
        schedule["scheduler"].step(merit({"val/bleu": 0.01, "val/loss": loss}, **BY_BLEU))
    assert optimizer.param_groups[0]["lr"] == 1.0
    schedule["scheduler"].step(merit({"val/bleu": 0.02, "val/loss": 4.6}, **BY_BLEU))
    assert optimizer.param_groups[0]["lr"] == 0.5
