"""Shallow fusion: a generator guided by a language model (Gulcehre et al. 2015, section 4.1). N rows, V vocabulary."""

from typing import Any

from torch import Tensor, nn

from unrolled.search.generator import Generator, device_of


class Fused:
    """log p(y | x) + weight x log p_LM(y), word by word, over one vocabulary, without renormalisation."""

    def __init__(self, generator: Any, language_model: Generator, weight: float) -> None:
        self.members = (generator, language_model)
        self.weight = weight

    def start(self, batch: Any) -> tuple[Any, Any]:
        """The states of both; the language model is moved to the generator's device."""
        generator, language_model = self.members
        state = generator.start(batch)
        if isinstance(language_model, nn.Module):
            language_model.to(device_of(state))
        return state, language_model.start(batch)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Previous words ``(N,)`` -> weighted sum of log-probabilities ``(N, V)``, next states."""
        generator, language_model = self.members
        log_probs, following = generator.step(tokens, state[0])
        advice, context = language_model.step(tokens, state[1])
        return log_probs + self.weight * advice, (following, context)

    def attend(self, tokens: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        """The same with the generator's attention weights ``(N, S)``."""
        generator, language_model = self.members
        log_probs, weights, following = generator.attend(tokens, state[0])
        advice, context = language_model.step(tokens, state[1])
        return log_probs + self.weight * advice, weights, (following, context)
