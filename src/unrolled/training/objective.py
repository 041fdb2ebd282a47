"""What all objectives share: optimisation, and likelihoods summed over all words of all ranks, divided once."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import lightning
import torch
from lightning.pytorch.plugins.precision import MixedPrecision, Precision
from lightning.pytorch.utilities import GradClipAlgorithmType
from torch import Tensor, nn
from torch.optim import Optimizer
from typing_extensions import override

from unrolled.data.batch import Batch
from unrolled.errors import check_choice
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.models.fast.linear import rounding
from unrolled.training.callbacks.validation_in_checkpoint import ValidationInCheckpoint
from unrolled.training.loss import TokenLoss
from unrolled.training.merit import MERIT, merit
from unrolled.training.schedule import Plateau, Schedule
from unrolled.training.word_mean import WordMean


class Objective(lightning.LightningModule):
    """What all objectives share: optimisation, and log-likelihoods summed over batches and ranks."""

    figures: tuple[str, ...] = ("val/loss", "val/perplexity")
    """The figures of a validation, which ``monitor`` chooses from."""

    def __init__(
        self,
        *,
        model: nn.Module,
        optimizer: Callable[[Iterable[nn.Parameter]], Optimizer],
        schedule: Callable[..., Schedule],
        label_smoothing: float,
        monitor: str,
        mode: str,
    ) -> None:
        super().__init__()
        check_choice("objective.monitor", monitor, self.figures)
        self.model = model
        self.label_smoothing = label_smoothing
        self.monitor = monitor
        self.mode = mode
        self.target_tokens = 0
        """Target words trained on by this rank, without padding."""
        self.training_loss: Tensor | None = None
        """The loss of this rank's last batch, nats a token; without smoothing, to compare it with val/loss."""
        self.hypotheses: dict[str, list[str]] = {}
        """The last output for each split that generates text, one line each."""
        self.signatures: dict[str, str] = {}
        """sacreBLEU's signatures of the metrics on ``hypotheses``."""
        self._optimizer = optimizer
        self._schedule = schedule
        self._likelihood = LogLikelihood()
        self._figures: dict[str, float] = {}
        self._words = 0
        self._mean = WordMean()

    def check_figure(self, option: str, figure: object, *others: str) -> None:
        """UserError unless the value of ``option`` is a figure that validations will have, or one of ``others``."""
        check_choice(option, figure, (*self.figures, *others))

    def configure_optimizers(self) -> Any:
        """Optimiser over all parameters, with its schedule if there is one."""
        optimizer = self._optimizer(self.model.parameters())
        schedule = self._schedule(optimizer, monitor=MERIT, mode="max", length=self._updates)
        return optimizer if schedule is None else {"optimizer": optimizer, "lr_scheduler": schedule}

    @override
    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Step, but `Plateau` only after a new validation; Lightning steps at the end of every epoch."""
        if isinstance(scheduler, Plateau):
            callbacks: list[Any] = self.trainer.callbacks  # type: ignore[attr-defined]
            scheduler.look(metric, max(it.validated for it in callbacks if isinstance(it, ValidationInCheckpoint)))
        else:
            super().lr_scheduler_step(scheduler, metric)

    def _updates(self) -> float:
        """How many updates the training makes unless it stops early."""
        return self.trainer.estimated_stepping_batches

    def loss(self, batch: Batch) -> TokenLoss:
        """Teacher-forced loss of a batch."""
        raise NotImplementedError

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """Mean objective over the batch's words."""
        loss = self._loss_in_training(batch)
        self.target_tokens += loss.tokens
        self._words = loss.tokens
        words = max(loss.tokens, 1)  # at the end of a stream a rank may have nothing but padding
        self.training_loss = loss.negative_log_likelihood.detach() / words
        self.log_step("train/loss", self.training_loss)
        return loss.objective / words

    def _loss_in_training(self, batch: Any) -> TokenLoss:
        with rounding(self.model):
            return self.loss(batch)

    def log_step(self, name: str, value: Tensor) -> None:
        """Log a figure of a training step, if loggers record this step: Lightning's log takes its time."""
        if self._recorded or self._has_lightnings_bar:
            self.log(name, value, prog_bar=self._has_lightnings_bar)

    @property
    def _recorded(self) -> bool:
        """Whether loggers record figures of this step; yes without a trainer."""
        every: int | None = getattr(self._trainer, "log_every_n_steps", None)
        return every is None or (self.trainer.global_step + 1) % every == 0

    def rehearse(self, batch: Any) -> None:
        """Compute loss and gradients of a batch as in training, and leave no trace: no gradient, figure or draw."""
        devices = [self.device] if self.device.type == "cuda" else []
        weights = [weight for weight in self.parameters() if weight.requires_grad]
        self.log = lambda *_, **__: None  # type: ignore[method-assign]
        try:
            with torch.random.fork_rng(devices), self.trainer.precision_plugin.train_step_context():
                torch.autograd.grad(self._loss_in_training(batch).objective, weights, allow_unused=True)
        finally:
            del self.log

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Log the norm of all gradients together, before it is clipped, as often as the other curves."""
        if self._recorded:
            gradients = [weight.grad for weight in self.parameters() if weight.grad is not None]
            self.log("train/gradient_norm", torch.nn.utils.get_total_norm(gradients))

    @override
    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip; Lightning refuses a fused optimiser in mixed precision, also in bfloat16, where there is no scale."""
        precision = self.trainer.precision_plugin
        if isinstance(precision, MixedPrecision) and precision.scaler is None and gradient_clip_val is not None:
            algorithm = GradClipAlgorithmType(gradient_clip_algorithm or "norm")
            Precision.clip_gradients(precision, optimizer, gradient_clip_val, algorithm)
        else:
            self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def on_before_zero_grad(self, optimizer: Optimizer) -> None:
        """An update begins."""
        self._mean.begin()

    def backward(self, loss: Tensor) -> None:
        """Add gradients so that they are those of the mean objective over all words of the update so far."""
        batches, ranks = self.trainer.accumulate_grad_batches, self.trainer.world_size
        if batches * ranks > 1:
            words = torch.tensor(self._words, dtype=loss.dtype, device=loss.device)
            of_ranks = self.trainer.strategy.reduce(words.clone(), reduce_op="sum") if ranks > 1 else words
            # Lightning divided by the number of batches, and takes the mean of the ranks' gradients
            loss = loss * batches * ranks * (words / of_ranks) * self._mean.add(self.parameters(), of_ranks)
        loss.backward()

    @cached_property
    def _has_lightnings_bar(self) -> bool:
        """Whether a progress bar asks for the loss of every batch, which waits for the device; ours does not."""
        bar = getattr(self._trainer, "progress_bar_callback", None)
        return getattr(bar, "asks_for_every_loss", bar is not None)

    def _start_evaluation(self) -> None:
        self._figures = {}
        self._likelihood = LogLikelihood()

    def _evaluate_likelihood(self, batch: Batch) -> None:
        loss = self.loss(batch)
        self._likelihood.add(loss.negative_log_likelihood.item(), loss.tokens)

    def _log_likelihood(self, split: str) -> None:
        total = LogLikelihood()
        for nll, tokens in self.gather((self._likelihood.negative_log_likelihood, self._likelihood.tokens)):
            total.add(nll, tokens)
        self._log(f"{split}/loss", total.loss)
        self._log(f"{split}/perplexity", total.perplexity)

    def _log_merit(self) -> None:
        """Log the number by which early stopping and schedules judge this validation."""
        if self.monitor in self._figures:
            value = merit(self._figures, monitor=self.monitor, mode=self.mode)
            self.log(MERIT, torch.tensor(value, dtype=torch.float32, device=self.device), logger=False, sync_dist=True)

    def gather(self, value: Any) -> list[Any]:
        """``value`` of every rank, in rank order."""
        if self.trainer.world_size == 1:
            return [value]
        gathered: list[Any] = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(gathered, value)
        return gathered

    def _log(self, name: str, value: float) -> None:
        self._figures[name] = value
        # the same on all ranks; float32, as accelerators may have no float64
        self.log(name, torch.tensor(value, dtype=torch.float32, device=self.device), prog_bar=True, sync_dist=True)
