"""The objective of language models, as a LightningModule."""

from typing import Any

from torch import Tensor
from typing_extensions import override

from unrolled.data.batch import Batch
from unrolled.data.continuous import StreamBatch
from unrolled.models.language_model import NeuralLanguageModel
from unrolled.models.sentences import pick
from unrolled.models.state import joined, map_state
from unrolled.models.trace import Tracer
from unrolled.training.gradient_regularization import check_regularization, total_omega
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.loss import TokenLoss
from unrolled.training.objective import Objective


class LanguageModeling(Objective):
    """p(sentence): trains and measures a language model on the target side.

    For continuous text the state, but not its gradient, is carried from batch to batch: truncated backpropagation
    through time. Training and evaluation each carry their own.

    ``gradient_regularization``: the weight of Omega in training, see `gradient_regularization`.
    """

    model: NeuralLanguageModel

    def __init__(self, *, gradient_regularization: float = 0.0, **shared: Any) -> None:
        super().__init__(**shared)
        check_regularization(gradient_regularization, self.model)
        self.gradient_regularization = gradient_regularization
        self._carried: dict[str, Any] = {}

    def loss(self, batch: Batch | StreamBatch) -> TokenLoss:
        """-log p(x_1 ... x_T </s>), each word given all previous ones."""
        tracer = Tracer()
        traced = [tracer] if self.training and self.gradient_regularization else []
        hidden, state = self.model(batch.target_in, self._state(batch), *traced)
        self._carry(batch, state)
        counted = batch.counted if batch.counted is not None else batch.target_out_valid
        hidden, words = pick(hidden, counted), pick(batch.target_out, counted)
        loss = linear_token_loss(hidden, self.model.output, words, self._smoothing())
        return self._regularized(loss, tracer) if traced else loss

    def _regularized(self, loss: TokenLoss, tracer: Tracer) -> TokenLoss:
        omega = total_omega(loss.objective, tracer.layers)
        self.log_step("train/omega", omega.detach() / loss.tokens)
        return loss._replace(objective=loss.objective + self.gradient_regularization * omega)

    def rehearse(self, batch: Any) -> None:
        """See `Objective`; the carried state does not change either."""
        carried = dict(self._carried)
        super().rehearse(batch)
        self._carried = carried

    @property
    def _phase(self) -> str:
        return "training" if self.training else "evaluation"

    def _state(self, batch: Batch | StreamBatch) -> Any:
        if isinstance(batch, Batch):
            return self.model.start(batch)
        return self.model.zero_state(len(batch)) if batch.first else self._carried[self._phase]

    def _carry(self, batch: Batch | StreamBatch, state: Any) -> None:
        if isinstance(batch, StreamBatch):
            self._carried[self._phase] = map_state(Tensor.detach, state)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the state that training carries, for every rank, so that a resumed training continues exactly."""
        if "training" in self._carried:
            checkpoint["carried"] = self.gather(map_state(Tensor.cpu, self._carried["training"]))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the state that training carries; other processes than before divide the rows anew."""
        if self._trainer is not None and checkpoint.get("carried"):
            rank, processes = self.trainer.global_rank, self.trainer.world_size
            rows = joined(checkpoint["carried"])  # of the first process, of the second, ...
            mine = map_state(lambda tensor: tensor.chunk(processes)[rank].to(self.device), rows)
            self._carried["training"] = mine

    def _smoothing(self) -> float:
        return self.label_smoothing if self.training else 0.0

    @override
    def on_validation_epoch_start(self) -> None:
        self._start_evaluation()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Add a batch to the sums."""
        self._evaluate_likelihood(batch)

    def on_validation_epoch_end(self) -> None:
        """Log val/loss (nats per token) and val/perplexity."""
        self._log_likelihood("val")
        self._log_merit()

    @override
    def on_test_epoch_start(self) -> None:
        self._start_evaluation()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        """Add a batch to the sums."""
        self._evaluate_likelihood(batch)

    def on_test_epoch_end(self) -> None:
        """Log test/loss and test/perplexity."""
        self._log_likelihood("test")
