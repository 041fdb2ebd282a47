"""The objective of translators, as a LightningModule."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from typing_extensions import override

from unrolled.alignment.links import Links
from unrolled.data.batch import Batch
from unrolled.errors import UserError
from unrolled.metrics.attention_counts import AttentionCounts
from unrolled.metrics.error_rates import errors_of_lines, total
from unrolled.metrics.translation_scores import check_bleu_tokenize, translation_scores
from unrolled.models.sentences import pick
from unrolled.models.translator import Translator
from unrolled.search.generator import Search
from unrolled.training.alignment_loss import Supervision, check_supervision, doubly_stochastic
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.loss import TokenLoss
from unrolled.training.objective import Objective


class Translation(Objective):
    """p(target | source): trains a translator, and translates and scores at validation and test.

    ``references`` are the raw lines of each split; ``decode`` turns token ids into text. ``words`` has the words of the
    source and target pieces of each line of each split, for figures on the attention under forced decoding and to know
    a blank source; ``gold`` has its (sure, possible) links, if they are known. ``hypotheses[split]`` holds the last
    translations of a split, one per line in the file's order, and ``signatures`` sacreBLEU's signatures.

    ``symbols``: the unit of error rates, see `error_rates.SYMBOLS`; None for no error rates.

    ``supervision``: how training learns from known alignments. ``doubly_stochastic``: the weight of that penalty.
    """

    model: Translator
    figures = (
        *("val/loss", "val/perplexity", "val/bleu", "val/chrf", "val/aer"),
        *("val/word_error_rate", "val/symbol_error_rate"),
    )

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
        symbols: str | None = None,
        supervision: Supervision | None = None,
        doubly_stochastic: float = 0.0,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        check_supervision(self.model, supervision, doubly_stochastic)
        check_bleu_tokenize(bleu_tokenize)
        self.decode = decode
        self.references = references
        self.words, self.gold = words, gold
        self.supervision = supervision
        self.doubly_stochastic = doubly_stochastic
        self.bleu_tokenize = bleu_tokenize
        self.bleu_lowercase = bleu_lowercase
        self.symbols = symbols
        self.check_figure("objective.monitor", self.monitor)
        self.validation_search = validation_search
        self.test_search = test_search
        self.lines: dict[str, list[int]] = {}
        """The numbers of the lines that were evaluated last, for each split."""
        self._translated: list[tuple[int, list[int]]] = []
        self._attention = AttentionCounts()

    def check_figure(self, option: str, figure: object, *others: str) -> None:
        """UserError, too, for a figure that needs data which are not given."""
        super().check_figure(option, figure, *others)
        if figure == "val/aer" and self.model.attention is None:
            raise UserError(f"{option}=val/aer: this model has no attention to align: give another figure")
        if figure == "val/aer" and self.gold["val"] is None:
            raise UserError(
                f"{option}=val/aer: the validation text has no gold alignment: give data.val_alignment=FILE, or "
                "another figure"
            )
        if str(figure).endswith("_error_rate") and self.symbols is None:
            raise UserError(
                f"{option}={figure}: errors in which symbols? Give data.symbols=word or grapheme, or another figure if"
                " the data has no such option"
            )

    def loss(self, batch: Batch) -> TokenLoss:
        """-log p(y_1 ... y_T </s> | x), each word given all previous ones; in training plus what teaches attention."""
        loss, weights = self._forced(batch)
        return self._taught(loss, batch, weights) if self.training else loss

    def _forced(self, batch: Batch) -> tuple[TokenLoss, Tensor]:
        """The words' loss and the attention weights ``(B, T, S)`` under forced decoding."""
        if batch.source is None or batch.source_lengths is None:
            raise TypeError("a translator needs batches with a source")
        counted = batch.counted
        replacing = self.training and self.supervision is not None and self.supervision.replace
        known = batch.known if replacing else None
        hidden, weights = self.model(batch.source, batch.source_lengths, batch.target_in, counted, known)
        smoothing = self.label_smoothing if self.training else 0.0
        words = pick(batch.target_out, counted)
        return linear_token_loss(hidden, self.model.readout.output, words, smoothing), weights

    def _taught(self, loss: TokenLoss, batch: Batch, weights: Tensor) -> TokenLoss:
        """``loss`` plus what is added to the objective for the attention's weights."""
        objective = loss.objective
        if self.supervision is not None and self.supervision.weight > 0 and batch.known is not None:
            taught = self.supervision.loss(weights, batch.known, self.current_epoch)
            self.log_step("train/alignment_loss", taught.detach() / loss.tokens)
            objective = objective + taught
        if self.doubly_stochastic > 0:
            penalty = doubly_stochastic(weights, batch.target_out_valid, batch.source_valid)
            self.log_step("train/doubly_stochastic", penalty.detach() / loss.tokens)
            objective = objective + self.doubly_stochastic * penalty
        return loss._replace(objective=objective)

    def _evaluate(self, batch: Batch, split: str, search: Search) -> None:
        loss, weights = self._forced(batch)
        self._likelihood.add(loss.negative_log_likelihood.item(), loss.tokens)
        for line, hypothesis in zip(batch.index.tolist(), search(self.model, batch), strict=True):
            source, _ = self.words[split][line]
            # as in translate.py, a source without words has an empty translation
            self._translated.append((line, list(hypothesis.tokens) if {*source} - {-1} else []))
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
        ids_of_lines = dict(pair for rank in self.gather(self._translated) for pair in rank)
        lines = sorted(ids_of_lines)  # all lines of the file, unless trainer.limit_*_batches says otherwise
        hypotheses = [self.decode(ids_of_lines[line]) for line in lines]
        references = [self.references[split][line] for line in lines]
        scores = translation_scores(hypotheses, references, tokenize=self.bleu_tokenize, lowercase=self.bleu_lowercase)
        self.lines[split], self.hypotheses[split] = lines, hypotheses
        self.signatures = dict(scores.signatures)
        self._log(f"{split}/bleu", scores.bleu)
        self._log(f"{split}/chrf", scores.chrf)
        if self.symbols is not None:
            errors = total(errors_of_lines(hypotheses, references, self.symbols))
            self._log(f"{split}/word_error_rate", errors.word_error_rate)
            self._log(f"{split}/symbol_error_rate", errors.symbol_error_rate)
        if self.model.attention is not None:
            attention = AttentionCounts()
            attention.merge(self.gather(self._attention))
            for name, value in attention.figures().items():
                self._log(f"{split}/{name}", value)
        if split == "test":
            self._log("test/ter", scores.ter)

    def _start_evaluation(self) -> None:
        super()._start_evaluation()
        self._translated = []
        self._attention = AttentionCounts()

    @override
    def on_validation_epoch_start(self) -> None:
        self._start_evaluation()

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Forced decoding of the references, and translations by ``validation_search``."""
        self._evaluate(batch, "val", self.validation_search)

    def on_validation_epoch_end(self) -> None:
        """Log val/loss, val/perplexity, val/bleu, val/chrf, and `AttentionCounts.figures` as val/*."""
        self._score("val")
        self._log_merit()

    @override
    def on_test_epoch_start(self) -> None:
        self._start_evaluation()

    def test_step(self, batch: Batch, batch_index: int) -> None:
        """Forced decoding of the references, and translations by ``test_search``."""
        self._evaluate(batch, "test", self.test_search)

    def on_test_epoch_end(self) -> None:
        """Log test/loss, test/perplexity, test/bleu, test/chrf, test/ter, and figures on the attention."""
        self._score("test")
