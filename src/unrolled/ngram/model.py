"""n-gram language models: p(x_t | n - 1 words before), looked up. Every estimator fills the same table.

Letters: B batch, T length, n order, V vocabulary. The table is in back-off form (Katz 1987; ARPA files):

    p(w | h) = p of the n-gram hw if it is stored, else b(h) p(w | h'),

where h' is h without its first word; b(h) = 1 for a context that is not stored. The n-grams are a trie whose node 0 is
the empty context. A node has the key (node of its context) x V + (its last word); keys are sorted, and node i has the
i-th key.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from unrolled.errors import Numbers, UserError, check
from unrolled.models.language_model import LanguageModel, Nested
from unrolled.models.sentences import PredictedWords
from unrolled.ngram.counts import Estimator, count_ngrams
from unrolled.ngram.trie import NgramBlock, blocks, find, keys_of, level_ends, node_keys
from unrolled.text.tokens import BOS, PAD

LONGEST = 6


class NgramLanguageModel(LanguageModel):
    """The table above. Its parameters are the stored probabilities, and the back-off weights of shorter n-grams.

    Until it is filled, every word has the same probability. The state is the contexts of 1 to n - 1 words that end at
    the last word read, as nodes ``(B, n - 1)``.
    """

    keys: Tensor
    TABLE = ("keys", "log_probs", "log_backoffs")

    def __init__(self, *, vocabulary: int, order: int, estimator: Estimator | None) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.order = order
        self.estimator = estimator
        uniform = torch.full((vocabulary,), 1 / (vocabulary - 2)).index_fill(0, torch.tensor([PAD, BOS]), 0.0)
        self.register_buffer("keys", torch.arange(vocabulary))
        self.log_probs = nn.Parameter(uniform.log(), requires_grad=False)
        self.log_backoffs = nn.Parameter(torch.zeros(vocabulary if order > 1 else 0), requires_grad=False)

    # Filling the table

    def fit(self, tokens: Tensor) -> None:
        """Count ``tokens (N,)``, sentences with <s> and </s>, and estimate."""
        if self.estimator is None:
            raise UserError("model.estimator=null is for models read from a file: choose a model/estimator=...")
        counts = count_ngrams(tokens.cpu(), order=self.order, vocabulary=self.vocabulary)
        probabilities, backoffs = self.estimator(counts)
        keys = node_keys([(grams.contexts, grams.words) for grams in counts.grams], self.vocabulary)
        none = torch.zeros(0, dtype=torch.float64)
        self._fill(keys, torch.cat(probabilities).log(), torch.cat([none, *backoffs]).log())

    def fill(self, ngrams: Sequence[NgramBlock]) -> None:
        """Store n-grams: a block for each of k = 1 to n, each in any order; the 1-grams are all V words.

        MisplacedNgram: an n-gram occurs twice, or without its context.
        """
        keys, order = keys_of([block.words for block in ngrams], self.vocabulary)
        log_probs = [block.log_probs[rows] for block, rows in zip(ngrams, order, strict=True)]
        log_backoffs = [block.log_backoffs[rows] for block, rows in zip(ngrams[:-1], order[:-1], strict=True)]
        self._fill(keys, torch.cat(log_probs), torch.cat([torch.zeros(0), *log_backoffs]))

    def _fill(self, keys: Tensor, log_probs: Tensor, log_backoffs: Tensor) -> None:
        self.keys = keys.to(self.keys.device)
        self.log_probs.data = log_probs.to(self.log_probs)
        self.log_backoffs.data = log_backoffs.to(self.log_backoffs)

    def stored(self, rows: int) -> Iterator[Iterator[NgramBlock]]:
        """The stored n-grams, for each of k = 1 to n: blocks of up to ``rows``, on the CPU."""
        table = (getattr(self, name).detach().cpu() for name in self.TABLE)
        return blocks(*table, vocabulary=self.vocabulary, order=self.order, rows=rows)

    def sizes(self) -> list[int]:
        """How many k-grams are stored, k = 1 to n."""
        ends = level_ends(self.keys, self.vocabulary, self.order)
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *more: Any) -> None:
        """Like any module, but with any number of n-grams. ValueError: keys that are not sorted or not as many."""
        given = [state_dict[prefix + name] for name in self.TABLE if prefix + name in state_dict]
        if len(given) == len(self.TABLE):
            keys, log_probs, log_backoffs = given
            whole = keys.ndim == log_probs.ndim == log_backoffs.ndim == 1 and len(log_backoffs) <= len(keys)
            if not whole or len(keys) != len(log_probs) or len(keys) < self.vocabulary or (keys.diff() <= 0).any():
                raise ValueError("this is no table of n-grams over this vocabulary")
            ends = level_ends(keys, self.vocabulary, self.order)
            if len(log_backoffs) != (ends[-2] if self.order > 1 else 0):
                raise ValueError("there are not as many back-off weights as n-grams that are no longest ones")
        for name in self.TABLE:
            if prefix + name in state_dict:
                tensor = getattr(self, name)
                tensor.data = tensor.new_empty(state_dict[prefix + name].shape)
        super()._load_from_state_dict(state_dict, prefix, *more)

    # Looking up

    def zero_state(self, batch: int) -> Nested:
        """Before <s> there is no context: ``(B, n - 1)``."""
        return (self.keys.new_full((batch, self.order - 1), -1),)

    @override
    def step(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """-inf if p is 0: for <pad> and <s>, and for unseen words with maximum likelihood."""
        (before,) = state
        parents = torch.cat([torch.zeros_like(tokens).unsqueeze(1), before], dim=1)[:, : self.order - 1]
        contexts = find(self.keys, parents * self.vocabulary + tokens.unsqueeze(1))
        log_probs = self.log_probs[: self.vocabulary].repeat(len(tokens), 1)
        for context in contexts.unbind(1):  # p(w | h) = b(h) p(w | h'), or p of hw if it is stored
            log_probs += self._log_backoff(context).unsqueeze(1)
            first = torch.searchsorted(self.keys, context * self.vocabulary)
            number = torch.searchsorted(self.keys, (context + 1) * self.vocabulary) - first
            row = torch.arange(len(tokens), device=tokens.device).repeat_interleave(number)
            place = torch.arange(len(row), device=tokens.device) + (first - number.cumsum(0) + number)[row]
            log_probs[row, self.keys[place] % self.vocabulary] = self.log_probs[place]
        return log_probs, (contexts,)

    @override
    def word_log_probs(self, batch: PredictedWords, state: Nested) -> tuple[Tensor, Nested]:
        """Only the given words are looked up, at all positions at once."""
        (before,) = state
        read, predicted = batch.target_in, batch.target_out
        log_probs = self.log_probs[predicted]
        parents, last = torch.zeros_like(read), [before[:, :0]]
        for length in range(self.order - 1):
            contexts = find(self.keys, parents * self.vocabulary + read)
            nodes = find(self.keys, contexts * self.vocabulary + predicted)
            backed_off = self._log_backoff(contexts) + log_probs
            log_probs = self.log_probs[(nodes - 1).clamp_min(0)].where(nodes > 0, backed_off)
            parents = torch.cat([before[:, length : length + 1], contexts[:, :-1]], dim=1)
            last.append(contexts[:, -1:])
        return log_probs.masked_fill(~batch.target_out_valid, 0.0), (torch.cat(last, dim=1),)

    def _log_backoff(self, contexts: Tensor) -> Tensor:
        """log b of nodes, 0 of absent ones; any shape."""
        return self.log_backoffs[(contexts - 1).clamp_min(0)].masked_fill(contexts < 0, 0.0)


def ngram_lm(
    *, source_vocabulary: int | None, target_vocabulary: int, attention: Any, order: int, estimator: Estimator | None
) -> NgramLanguageModel:
    """Build the model, still empty; ``order`` n counts the predicted word. ``source_vocabulary`` is ignored."""
    if attention is not None:
        raise UserError("model=ngram_lm has no source to look at: omit attention=...")
    check("model.order", order, Numbers(least=1, most=LONGEST, whole=True))
    return NgramLanguageModel(vocabulary=target_vocabulary, order=order, estimator=estimator)
