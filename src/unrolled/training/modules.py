"""The two thin LightningModules: what is trained, validated and tested. The models themselves know no Lightning.

Loss, its gradient and perplexity are sums over all words of all ranks, divided once by the number of words.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import lightning
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from unrolled.data.alignment import Links
from unrolled.data.batch import Batch
from unrolled.data.continuous import StreamBatch
from unrolled.errors import UserError
from unrolled.metrics.attention import AttentionCounts
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.metrics.translation import translation_scores
from unrolled.models.language_model import NeuralLanguageModel
from unrolled.models.state import map_state
from unrolled.models.trace import Tracer
from unrolled.models.translator import Translator
from unrolled.search.generator import Hypothesis
from unrolled.training.gradient_regularization import check_regularization, total_omega
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.objective import TokenLoss
from unrolled.training.schedule import Schedule
from unrolled.training.supervision import Supervision, check_supervision, doubly_stochastic
from unrolled.training.word_mean import WordMean


class Search(Protocol):
    """Finds the best translation of every row of a batch."""

    def __call__(self, generator: Any, batch: Any) -> list[Hypothesis]:
        """One hypothesis a row, in the batch's order."""
        ...


class _Module(lightning.LightningModule):
    """What both objectives share: optimisation, and log-likelihoods summed over batches and ranks."""

    figures: tuple[str, ...] = ("val/loss", "val/perplexity")
    """What a validation finds, and ``monitor`` can be."""

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
        if monitor not in self.figures:
            raise UserError(f"objective.monitor={monitor}: give one of {', '.join(self.figures)}")
        self.model = model
        self.label_smoothing = label_smoothing
        self.monitor = monitor
        self.mode = mode
        self.target_tokens = 0
        """Target words trained on by this rank, without padding."""
        self._optimizer = optimizer
        self._schedule = schedule
        self._likelihood = LogLikelihood()
        self._words = 0
        self._mean = WordMean()

    def configure_optimizers(self) -> Any:
        """Optimiser over all parameters, with its schedule if there is one."""
        optimizer = self._optimizer(self.model.parameters())
        schedule = self._schedule(optimizer, monitor=self.monitor, mode=self.mode)
        return optimizer if schedule is None else {"optimizer": optimizer, "lr_scheduler": schedule}

    def loss(self, batch: Batch) -> TokenLoss:
        """Teacher-forced loss of a batch."""
        raise NotImplementedError

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """Mean objective over the batch's words."""
        loss = self.loss(batch)
        self.target_tokens += loss.tokens
        self._words = loss.tokens
        words = max(loss.tokens, 1)  # at the end of a stream a rank may have nothing but padding
        # nats a token; without smoothing, to compare with val/loss
        self.log("train/loss", loss.negative_log_likelihood.detach() / words, prog_bar=True)
        return loss.objective / words

    def on_before_zero_grad(self, optimizer: Optimizer) -> None:
        """An update begins."""
        self._mean.begin()

    def backward(self, loss: Tensor) -> None:
        """Gradients of the mean objective over all words of the update so far; ``loss`` is Lightning's share of it."""
        batches, ranks = self.trainer.accumulate_grad_batches, self.trainer.world_size
        if batches * ranks > 1:
            words = torch.tensor(self._words, dtype=loss.dtype, device=loss.device)
            of_ranks = self.trainer.strategy.reduce(words.clone(), reduce_op="sum") if ranks > 1 else words
            # Lightning divided by the number of batches, and takes the mean of the ranks' gradients
            loss = loss * batches * ranks * (words / of_ranks) * self._mean.add(self.parameters(), of_ranks)
        loss.backward()

    def _start_evaluation(self) -> None:
        self._likelihood = LogLikelihood()

    def _evaluate_likelihood(self, batch: Batch) -> None:
        loss = self.loss(batch)
        self._likelihood.add(loss.negative_log_likelihood.item(), loss.tokens)

    def _log_likelihood(self, split: str) -> None:
        sums = torch.tensor(
            [self._likelihood.negative_log_likelihood, self._likelihood.tokens], dtype=torch.float64, device="cpu"
        )
        total = LogLikelihood()
        for nll, tokens in self.gather(sums.tolist()):
            total.add(nll, int(tokens))
        self._log(f"{split}/loss", total.loss)
        self._log(f"{split}/perplexity", total.perplexity)

    def gather(self, value: Any) -> list[Any]:
        """``value`` of every rank, in rank order."""
        if self.trainer.world_size == 1:
            return [value]
        gathered: list[Any] = [None] * self.trainer.world_size
        torch.distributed.all_gather_object(gathered, value)
        return gathered

    def _log(self, name: str, value: float) -> None:
        # the same on all ranks; float32, as accelerators may have no float64
        self.log(name, torch.tensor(value, dtype=torch.float32, device=self.device), prog_bar=True, sync_dist=True)


class LanguageModeling(_Module):
    """p(sentence): trains and measures a language model on the target side.

    Of a continuous text the state is carried on from batch to batch, its gradient not: truncated backpropagation
    through time. Training and evaluation carry their own.

    ``gradient_regularization``: the weight of Omega in training, see `gradient_regularization`.
    """

    model: NeuralLanguageModel

    def __init__(self, *, gradient_regularization: float = 0.0, **shared: Any) -> None:
        super().__init__(**shared)
        check_regularization(gradient_regularization, self.model)
        self.gradient_regularization = gradient_regularization
        self._carried: dict[str, Any] = {}

    def loss(self, batch: Batch | StreamBatch) -> TokenLoss:
        """-log p(x_1 ... x_T </s>), every word given the ones before it."""
        tracer = Tracer()
        traced = [tracer] if self.training and self.gradient_regularization else []
        hidden, state = self.model(batch.target_in, self._state(batch), *traced)
        self._carry(batch, state)
        counted = batch.target_out_valid
        loss = linear_token_loss(hidden[counted], self.model.output, batch.target_out[counted], self._smoothing())
        return self._regularized(loss, tracer) if traced else loss

    def _regularized(self, loss: TokenLoss, tracer: Tracer) -> TokenLoss:
        omega = total_omega(loss.objective, tracer.layers)
        self.log("train/omega", omega.detach() / loss.tokens)
        return loss._replace(objective=loss.objective + self.gradient_regularization * omega)

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
        """The state that training carries, of every rank, so that it goes on as if it had not stopped."""
        if "training" in self._carried:
            checkpoint["carried"] = self.gather(map_state(Tensor.cpu, self._carried["training"]))

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Carry on what was saved."""
        if "carried" in checkpoint and self._trainer is not None:
            state = checkpoint["carried"][self.trainer.global_rank]
            self._carried["training"] = map_state(lambda part: part.to(self.device), state)

    def _smoothing(self) -> float:
        return self.label_smoothing if self.training else 0.0

    def on_validation_epoch_start(self) -> None:
        """Begin new sums."""
        self._start_evaluation()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Add a batch to the sums."""
        self._evaluate_likelihood(batch)

    def on_validation_epoch_end(self) -> None:
        """Log val/loss (nats a token) and val/perplexity."""
        self._log_likelihood("val")

    def on_test_epoch_start(self) -> None:
        """Begin new sums."""
        self._start_evaluation()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        """Add a batch to the sums."""
        self._evaluate_likelihood(batch)

    def on_test_epoch_end(self) -> None:
        """Log test/loss and test/perplexity."""
        self._log_likelihood("test")


class Translation(_Module):
    """p(target | source): trains a translator, and translates and scores at validation and test.

    ``references`` are the raw lines of each split; ``decode`` turns token ids into text. ``words`` has for each line of
    each split the word that its source and its target pieces belong to, and ``gold`` its (sure, possible) links, where
    they are known: for what the attention is like under forced decoding. ``hypotheses[split]`` holds the last
    translations of a split, one a line in the file's order, and ``signatures`` sacreBLEU's signatures.

    ``supervision``: what training learns from known alignments. ``doubly_stochastic``: the weight of that penalty.
    """

    model: Translator
    figures = ("val/loss", "val/perplexity", "val/bleu", "val/chrf", "val/aer")

    def __init__(
        self,
        *,
        decode: Callable[[Sequence[int]], str],
        references: dict[str, list[str]],
        words: dict[str, list[tuple[list[int], list[int]]]],
        gold: dict[str, list[tuple[Links, Links]] | None],
        bleu_tokenize: str,
        bleu_lowercase: bool,
        validation_search: Search,
        test_search: Search,
        supervision: Supervision | None = None,
        doubly_stochastic: float = 0.0,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        check_supervision(self.model, supervision, doubly_stochastic)
        if self.monitor == "val/aer" and gold["val"] is None:
            raise UserError(
                "objective.monitor=val/aer: nobody knows the links of the validation text: give "
                "data.val_alignment=FILE, or another figure"
            )
        self.decode = decode
        self.references = references
        self.words, self.gold = words, gold
        self.supervision = supervision
        self.doubly_stochastic = doubly_stochastic
        self.bleu_tokenize = bleu_tokenize
        self.bleu_lowercase = bleu_lowercase
        self.validation_search = validation_search
        self.test_search = test_search
        self.lines: dict[str, list[int]] = {}
        """The numbers of the lines that were evaluated last, of each split."""
        self.hypotheses: dict[str, list[str]] = {}
        """Their translations."""
        self.signatures: dict[str, str] = {}
        self._found: list[tuple[int, list[int]]] = []
        self._attention = AttentionCounts()

    def loss(self, batch: Batch) -> TokenLoss:
        """-log p(y_1 ... y_T </s> | x), each word given the ones before; in training also what teaches attention."""
        loss, weights = self._forced(batch)
        return self._taught(loss, batch, weights) if self.training else loss

    def _forced(self, batch: Batch) -> tuple[TokenLoss, Tensor]:
        """Words' loss and attention weights ``(B, T, S)`` under forced decoding."""
        if batch.source is None or batch.source_lengths is None:
            raise TypeError("a translator needs batches with a source")
        counted = batch.target_out_valid
        replacing = self.training and self.supervision is not None and self.supervision.replace
        known = batch.known if replacing else None
        hidden, weights = self.model(batch.source, batch.source_lengths, batch.target_in, counted, known)
        smoothing = self.label_smoothing if self.training else 0.0
        return linear_token_loss(hidden, self.model.readout.output, batch.target_out[counted], smoothing), weights

    def _taught(self, loss: TokenLoss, batch: Batch, weights: Tensor) -> TokenLoss:
        """With what is added to the objective for the attention's weights."""
        objective = loss.objective
        if self.supervision is not None and self.supervision.weight > 0 and batch.known is not None:
            taught = self.supervision.loss(weights, batch.known, self.current_epoch)
            self.log("train/alignment_loss", taught.detach() / loss.tokens)
            objective = objective + taught
        if self.doubly_stochastic > 0:
            penalty = doubly_stochastic(weights, batch.target_out_valid, batch.source_valid)
            self.log("train/doubly_stochastic", penalty.detach() / loss.tokens)
            objective = objective + self.doubly_stochastic * penalty
        return loss._replace(objective=objective)

    def _evaluate(self, batch: Batch, split: str, search: Search) -> None:
        loss, weights = self._forced(batch)
        self._likelihood.add(loss.negative_log_likelihood.item(), loss.tokens)
        for line, hypothesis in zip(batch.index.tolist(), search(self.model, batch), strict=True):
            self._found.append((line, list(hypothesis.tokens)))
        if self.model.attention is not None:
            self._attended(batch, split, weights.float().cpu())

    def _attended(self, batch: Batch, split: str, weights: Tensor) -> None:
        gold = self.gold[split]
        for row, line in enumerate(batch.index.tolist()):
            source, target = self.words[split][line]
            matrix = weights[row, : len(target) + 1, : len(source) + 1].numpy()
            self._attention.add(matrix, source, target, None if gold is None else gold[line])

    def _score(self, split: str) -> None:
        self._log_likelihood(split)
        found = dict(pair for rank in self.gather(self._found) for pair in rank)
        lines = sorted(found)  # all of the file's, unless trainer.limit_*_batches says otherwise
        hypotheses = [self.decode(found[line]) for line in lines]
        references = [self.references[split][line] for line in lines]
        scores = translation_scores(hypotheses, references, tokenize=self.bleu_tokenize, lowercase=self.bleu_lowercase)
        self.lines[split], self.hypotheses[split] = lines, hypotheses
        self.signatures = dict(scores.signatures)
        self._log(f"{split}/bleu", scores.bleu)
        self._log(f"{split}/chrf", scores.chrf)
        if self.model.attention is not None:
            attention = AttentionCounts()
            attention.merge(self.gather(self._attention))
            for name, value in attention.figures().items():
                self._log(f"{split}/{name}", value)
        if split == "test":
            self._log("test/ter", scores.ter)

    def _start_evaluation(self) -> None:
        super()._start_evaluation()
        self._found = []
        self._attention = AttentionCounts()

    def on_validation_epoch_start(self) -> None:
        """Begin new sums."""
        self._start_evaluation()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Forced decoding of the references, and translations by ``validation_search``."""
        self._evaluate(batch, "val", self.validation_search)

    def on_validation_epoch_end(self) -> None:
        """Log val/loss, val/perplexity, val/bleu, val/chrf, and `AttentionCounts.figures` as val/*."""
        self._score("val")

    def on_test_epoch_start(self) -> None:
        """Begin new sums."""
        self._start_evaluation()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        """Forced decoding of the references, and translations by ``test_search``."""
        self._evaluate(batch, "test", self.test_search)

    def on_test_epoch_end(self) -> None:
        """Log test/loss, test/perplexity, test/bleu, test/chrf, test/ter, and what the attention is like."""
        self._score("test")
