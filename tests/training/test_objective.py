"""What all objectives share, without a trainer: one sum, divided once."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.plugins.precision import MixedPrecision, Precision
from support.small_models import TARGET_WORDS, build_lm, words

from unrolled.data.batch import make_batch
from unrolled.errors import UserError
from unrolled.training.callbacks.progress_bar import LineAndTable
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.loss import TokenLoss
from unrolled.training.objective import Objective
from unrolled.training.schedule import constant, halve_on_plateau


def objective(of=Objective, schedule=constant, monitor="val/loss", mode="min"):
    return of(
        model=build_lm().float(),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        schedule=schedule,
        label_smoothing=0.0,
        monitor=monitor,
        mode=mode,
    )


class Known(Objective):
    """A loss that is known: batches are (objective, negative log-likelihood, tokens)."""

    def loss(self, batch):
        weight = self.model.output.bias[0]
        smoothed, nll, tokens = batch
        return TokenLoss(smoothed + 0 * weight, torch.tensor(float(nll)), tokens)


def logged(module):
    figures = {}
    module.log = lambda name, value, **_: figures.update({name: float(value)})
    return figures


def test_a_step_descends_on_the_mean_over_words_and_shows_the_loss_without_smoothing():
    module = objective(Known)
    figures = logged(module)
    assert float(module.training_step((12.0, 6.0, 4), 0).detach()) == 3.0
    assert figures == {"train/loss": 1.5}
    module.training_step((1.0, 1.0, 7), 1)
    assert module.target_tokens == 11


def test_a_batch_without_words_is_no_division_by_zero():
    module = objective(Known)
    logged(module)
    assert float(module.training_step((0.0, 0.0, 0), 0).detach()) == 0.0


def test_the_loss_of_a_validation_is_that_of_its_words_not_the_mean_of_its_batches():
    module = objective(Known)
    module._trainer = SimpleNamespace(world_size=1)
    figures = logged(module)
    module._start_evaluation()
    for batch in ((0.0, 30.0, 10), (0.0, 2.0, 2)):  # 3 and 1 nats a word
        module._evaluate_likelihood(batch)
    module._log_likelihood("val")
    assert figures["val/loss"] == pytest.approx(32 / 12)
    assert figures["val/perplexity"] == pytest.approx(torch.tensor(32 / 12).exp().item())
    module._start_evaluation()
    module._evaluate_likelihood((0.0, 5.0, 1))
    module._log_likelihood("val")
    assert figures["val/loss"] == 5.0  # nothing of the validation before


def test_merit_is_logged_only_after_a_figure_to_judge_by():
    module = objective(Known)
    module._trainer = SimpleNamespace(world_size=1)
    figures = logged(module)
    module._log_merit()
    assert figures == {}
    module._start_evaluation()
    module._evaluate_likelihood((0.0, 6.0, 2))
    module._log_likelihood("val")
    module._log_merit()
    assert figures["merit"] == -3.0  # the smaller the loss, the greater


def test_a_schedule_belongs_to_the_optimiser_and_none_leaves_it_alone():
    plain = objective().configure_optimizers()
    assert isinstance(plain, torch.optim.SGD)
    assert sum(p.numel() for group in plain.param_groups for p in group["params"]) == sum(
        p.numel() for p in build_lm().parameters()
    )

    def plateau(optimizer, **given):
        return halve_on_plateau(optimizer, **given, patience=0, factor=0.5, minimum=0.1)

    both = objective(schedule=plateau).configure_optimizers()
    assert both["lr_scheduler"]["scheduler"].optimizer is both["optimizer"]
    assert both["lr_scheduler"]["monitor"] == "merit"


def test_a_figure_that_no_validation_has_is_refused_with_the_nearest():
    with pytest.raises(UserError, match=r"objective\.monitor.*val/loss"):
        objective(monitor="val/los")


def test_a_rehearsal_leaves_no_gradient_no_figure_and_no_random_draw():
    module = objective(LanguageModeling)
    module.model.dropout.p = 0.5
    module._trainer = SimpleNamespace(precision_plugin=SimpleNamespace(train_step_context=nullcontext))
    before = torch.random.get_rng_state()
    module.rehearse(make_batch(None, words((3, 5), TARGET_WORDS), [0, 1]))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in module.parameters())
    assert module.log.__func__ is LanguageModeling.log  # it logs again


@pytest.mark.parametrize(("bar", "asks"), [(None, False), (LineAndTable(), False), (RichProgressBar(), True)])
def test_a_figure_is_logged_where_loggers_record_it_and_always_for_a_bar_of_lightnings(bar, asks):
    module = objective(Known)
    module._trainer = SimpleNamespace(progress_bar_callback=bar, global_step=0, log_every_n_steps=3)
    shown = []
    module.log = lambda name, value, *, prog_bar: shown.append((float(value), prog_bar))
    for step in range(4):
        module._trainer.global_step = step
        module.training_step((12.0, 4.0 * step, 4), 0)
        assert float(module.training_loss) == step
    assert shown == [(float(step), asks) for step in (range(4) if asks else [2])]


@pytest.mark.parametrize("precision", [Precision(), MixedPrecision("bf16-mixed", "cpu")])
def test_gradients_of_a_fused_optimiser_are_clipped_also_in_bfloat16(precision):
    module = objective(Known)
    module._trainer = SimpleNamespace(precision_plugin=precision, gradient_clip_val=None, gradient_clip_algorithm=None)
    optimizer = torch.optim.Adam(module.model.parameters(), fused=True)
    for algorithm, largest in (("norm", 0.5), ("value", 0.2)):
        for weight in module.model.parameters():
            weight.grad = torch.full_like(weight, 3.0)
        module.configure_gradient_clipping(optimizer, largest, algorithm)
        gradients = torch.cat([weight.grad.flatten() for weight in module.model.parameters()])
        found = gradients.norm() if algorithm == "norm" else gradients.abs().max()
        assert float(found) == pytest.approx(largest, rel=1e-4)
