"""Several language models with one vocabulary as one: p(w | h) = sum_m lambda_m p_m(w | h) (Jelinek & Mercer 1980).

Letters: B batch, T length, V vocabulary, M models.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from unrolled.models.language_model import LanguageModel, Nested
from unrolled.models.sentences import PredictedWords


class Mixture(LanguageModel):
    """Language models of any kind, each with a weight; the state is the tuple of their states.

    weights: M numbers from 0 that sum to 1.
    """

    log_weights: Tensor

    def __init__(self, *, models: Sequence[LanguageModel], weights: Sequence[float]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.register_buffer("log_weights", torch.tensor(weights, dtype=torch.float64).log())

    def members(self) -> list[LanguageModel]:
        """The models in their order."""
        return [model for model in self.models if isinstance(model, LanguageModel)]

    def zero_state(self, batch: int) -> Nested:
        """The states of all models before the first word."""
        return tuple(model.zero_state(batch) for model in self.members())

    def step(self, tokens: Tensor, state: Nested) -> tuple[Tensor, Nested]:
        """See `LanguageModel`; ``(B, V)`` in float64."""
        steps = [model.step(tokens, inner) for model, inner in zip(self.members(), state, strict=True)]
        return self._mix([log_probs for log_probs, _ in steps]), tuple(inner for _, inner in steps)

    def word_log_probs(self, batch: PredictedWords, state: Nested) -> tuple[Tensor, Nested]:
        """See `LanguageModel`; ``(B, T)`` in float64."""
        scored = [model.word_log_probs(batch, inner) for model, inner in zip(self.members(), state, strict=True)]
        log_probs = self._mix([log_probs for log_probs, _ in scored])
        return log_probs.masked_fill(~batch.target_out_valid, 0), tuple(inner for _, inner in scored)

    def _mix(self, log_probs: Sequence[Tensor]) -> Tensor:
        """log sum_m exp(log lambda_m + log p_m), all of one shape."""
        weights = self.log_weights.split(1)
        return torch.logsumexp(
            torch.stack([weight + log_p.double() for weight, log_p in zip(weights, log_probs, strict=True)]), dim=0
        )
