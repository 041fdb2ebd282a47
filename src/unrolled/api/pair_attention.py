"""Where a model looks in one pair of sentences, with a picture of it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unrolled.alignment.links import Links
from unrolled.api.records import Records

if TYPE_CHECKING:  # torch takes seconds
    from torch import Tensor

    from unrolled.inference.attended_pairs import AttendedPair


@dataclass(frozen=True)
class PairAttention:
    """The attention of one pair under forced decoding. T target pieces, S source pieces, </s> last on each side.

    weights: ``(T, S)``, float32, rows sum to 1. memory: ``(T, S, A)``, what a recurrent attention remembers at each
    source position after each step; None for an attention without memory. gates: by name ("reset", "update")
    ``(T, S, A)``, those of the memory's GRU in that step; {} without. For an ensemble, only the mean of the weights.
    source_words, target_words: the number of the word that each piece belongs to, without </s>.
    """

    source: list[str]
    target: list[str]
    weights: "Tensor" = field(repr=False)
    memory: "Tensor | None" = field(default=None, repr=False)
    gates: "dict[str, Tensor]" = field(default_factory=dict, repr=False)
    source_words: list[int] = field(default_factory=list, repr=False)
    target_words: list[int] = field(default_factory=list, repr=False)

    @property
    def alignment(self) -> Links:
        """{(i, j)}: target word j attends most to source word i, words from 0."""
        from unrolled.inference.attended_pairs import AttendedPair, word_links

        weights, words = self.weights, (self.source_words, self.target_words)
        return word_links(AttendedPair(self.source, self.target, weights, *words))

    def plot(self, title: str | None = None) -> Any:
        """A matplotlib Figure: source on top, target on the left, black is 1."""
        from unrolled.figures.heat_map import alignment_figure

        return alignment_figure(self.source, self.target, self.weights.numpy(), title=title)

    def _repr_png_(self) -> bytes:
        from unrolled.figures.formats import png

        return png(self.plot())


class Matrices(Records[PairAttention]):
    """The attention of several pairs, which a notebook shows one after the other."""

    def _repr_html_(self) -> str:
        from unrolled.figures.formats import embedded

        return "".join(embedded(pair._repr_png_()) for pair in self)


def pair_attention(pair: "AttendedPair") -> PairAttention:
    """What was found about a pair."""
    words = {"source_words": pair.source_words, "target_words": pair.target_words}
    return PairAttention(pair.source, pair.target, pair.weights, pair.memory, pair.gates or {}, **words)
