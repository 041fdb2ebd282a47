"""Sentences to try promises on, the smallest first, and what a model predicts for them."""

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from unrolled.conformance.subject import SOURCE_WORDS, TARGET_WORDS, Broken, language_model_of
from unrolled.models.translator import Translator

TOLERANCE = 1e-10
"""How far apart two ways of computing the same number may be in float64."""


class Case(NamedTuple):
    """Sources of these numbers of words, and targets of this many steps, as ids from 4."""

    lengths: tuple[int, ...]
    steps: int
    seed: int = 0

    @property
    def sources(self) -> list[list[int]]:
        """Ids of the sources."""
        return words(self.lengths, SOURCE_WORDS, self.seed)

    @property
    def targets(self) -> list[list[int]]:
        """Ids of the targets, the input of every step."""
        return words([self.steps] * len(self.lengths), TARGET_WORDS, self.seed)

    def __str__(self) -> str:
        """Such as "sources of 1 and 3 words, 2 steps"."""
        *most, last = (str(length) for length in self.lengths)
        lengths = f"{', '.join(most)} and {last}" if most else last
        sources = f"source{'s' if most else ''} of {lengths} word{'' if lengths == '1' else 's'}"
        return f"{sources}, {self.steps} step{'s' if self.steps > 1 else ''}"


ALONE = [Case((length,), steps) for steps in (1, 2, 3) for length in (1, 2, 3, 5)]
TOGETHER = [Case((length,) * many, steps) for steps in (1, 2, 3) for length, many in ((1, 2), (2, 2), (3, 3))]
MIXED = [Case((1, 2), 1), Case((2, 1), 2), Case((3, 5, 2), 3)]


def words(lengths: Iterable[int], vocabulary: int, seed: int = 0) -> list[list[int]]:
    """Random sentences of ids >= 4."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(4, vocabulary, (length,), generator=generator).tolist() for length in lengths]


def pad(sentences: Sequence[Sequence[int]], length: int | None = None, filler: int = 0) -> tuple[Tensor, Tensor]:
    """Lists of ids -> ``(B, S)``, and their lengths ``(B,)``."""
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    rows = torch.full((len(sentences), length or int(lengths.max())), filler)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence)
    return rows, lengths


def batch_of(sources: Sequence[Sequence[int]], length: int | None = None, filler: int = 0) -> Any:
    """The batch that a translator's ``start`` reads; for language models, as many rows."""
    source, lengths = pad(sources, length, filler)
    return SimpleNamespace(source=source, source_lengths=lengths, target=torch.zeros(len(sources), 1).long())


def forced(
    model: nn.Module,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    length: int | None = None,
    filler: int = 0,
) -> tuple[Tensor, Tensor | None]:
    """Teacher forcing: log-probabilities ``(B, T, V)`` and weights ``(B, T, S)``; targets of one length.

    A language model has no weights, and reads no source.
    """
    target_in = torch.tensor(targets)
    if not isinstance(model, Translator):
        language_model = language_model_of(model)
        hidden, _ = language_model(target_in, language_model.zero_state(len(target_in)))
        return torch.log_softmax(language_model.output(hidden), dim=-1), None
    source, lengths = pad(sources, length, filler)
    hidden, weights = model(source, lengths, target_in, torch.ones_like(target_in, dtype=torch.bool))
    log_probs = torch.log_softmax(model.readout.output(hidden), dim=-1)
    return log_probs.unflatten(0, target_in.shape), weights


def normal(*shape: int, seed: int = 17) -> Tensor:
    """Normally distributed numbers."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def stepwise(generator: Any, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
    """Log-probabilities ``(B, T, V)`` by repeated ``step``, and the last state."""
    outputs = []
    for word in tokens.unbind(1):
        log_probs, state = generator.step(word, state)
        outputs.append(log_probs)
    return torch.stack(outputs, dim=1), state


@torch.inference_mode()
def searched(generator: Any, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Tensor:
    """Log-probabilities ``(B, T, V)`` by repeated ``step`` without gradients, as in search; targets of one length."""
    log_probs, _ = stepwise(generator, torch.tensor(targets), generator.start(batch_of(sources)))
    return log_probs


def weigher(like: Tensor) -> Callable[[Tensor], Tensor]:
    """A loss that looks at every element of a tensor like this differently."""
    weights = normal(*like.shape, seed=28)
    return lambda out: (out * weights).sum()


def draw_from(seed: int) -> None:
    """Let dropout on the CPU, where promises are tried, draw from ``seed``; other devices' states are left alone."""
    torch.default_generator.manual_seed(seed)


def difference(one: Tensor, other: Tensor) -> float:
    """The largest absolute difference; infinite where only one is a number."""
    if one.shape != other.shape:
        return float("inf")
    apart = (one.double() - other.double()).abs()
    return float(torch.nan_to_num(apart, nan=float("inf")).max()) if apart.numel() else 0.0


def check_same(what: str, one: Tensor, other: Tensor, where: object, tolerance: float = TOLERANCE) -> None:
    """Broken: they differ."""
    apart = difference(one.detach(), other.detach())
    if not apart <= tolerance:
        raise Broken(f"{where}: {what} differ by {apart:.2g}")
