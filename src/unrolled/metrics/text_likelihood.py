"""What a text costs: log-probabilities of its lines' pieces, by word and summed over a corpus.

Models with different vocabularies predict different tokens, so their perplexities per token do not compare. What they
say of whole words, of characters and of the text does. Letters: N pieces of a line with </s>, W words.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf, log

from unrolled.metrics.perplexity import LogLikelihood
from unrolled.text.tokens import SPECIALS, UNK, split_words

BIT = log(2)  # in nats


def per_word(log_probs: Sequence[float], words_of_pieces: Sequence[int], words: int) -> list[float]:
    """Natural log p of each word given all before it, and last of </s>: W + 1 of N.

    ``words_of_pieces (N - 1,)`` is the word of each piece but </s>, as a tokenizer gives it.
    """
    sums = [0.0] * (words + 1)
    # log p(word | before) = sum of log p(piece | before) over its pieces
    for number, log_p in zip([*words_of_pieces, words], log_probs, strict=True):
        sums[number] += log_p
    return sums


def unknown_words(line: str, pieces: Sequence[str], words_of_pieces: Sequence[int]) -> list[int]:
    """The numbers of the words of ``line`` that the vocabulary cannot write: those with an <unk> among their pieces.

    A word that is written <unk> in the text is none of them: whoever prepared the text has put it there, as the
    published versions of word-level corpora have it, and it is predicted as what it is.
    """
    words = split_words(line)
    without = {number for piece, number in zip(pieces, words_of_pieces, strict=False) if piece == SPECIALS[UNK]}
    return [number for number in sorted(without) if number < len(words) and words[number] != SPECIALS[UNK]]


@dataclass
class TextLikelihood:
    """Sums over the lines of a text; every figure is divided once, at the end.

    characters: code points of the lines and one line end each, as ``wc -m`` counts them. known: the words that every
    model of a comparison knows, and </s>. A word that is unknown is scored as <unk>, as any word outside the vocabulary
    is, and that is the likelier the smaller the vocabulary: vocabularies compare over known words only.
    """

    sentences: int = 0
    words: int = 0
    characters: int = 0
    unknown_words: int = 0
    tokens: LogLikelihood = field(default_factory=LogLikelihood)
    known: LogLikelihood = field(default_factory=LogLikelihood)

    def add(
        self,
        line: str,
        log_probs: Sequence[float],
        words_of_pieces: Sequence[int],
        *,
        unknown: Collection[int],
        unknown_to_any: Collection[int],
    ) -> None:
        """Add a line: natural log p of its pieces and </s> ``(N,)``, their words, the numbers of unknown words."""
        words = len(split_words(line))
        self.sentences += 1
        self.words += words
        self.characters += len(line) + 1
        self.unknown_words += len(unknown)
        self.tokens.add(-sum(log_probs), len(log_probs))
        by_word = enumerate(per_word(log_probs, words_of_pieces, words))
        known = [log_p for number, log_p in by_word if number not in unknown_to_any]
        self.known.add(-sum(known), len(known))

    @property
    def perplexity_per_word(self) -> float:
        """exp(-log p / (words + sentences)): every sentence has one </s>, as in published word-level figures."""
        return LogLikelihood(self.tokens.negative_log_likelihood, self.words + self.sentences).perplexity

    @property
    def bits_per_character(self) -> float:
        """-log2 p / characters, line ends counted, as </s> stands for them."""
        return LogLikelihood(self.tokens.negative_log_likelihood, self.characters).loss / BIT

    def figures(self) -> dict[str, int | float]:
        """All by name."""
        return {
            "sentences": self.sentences,
            "tokens": self.tokens.tokens,
            "words": self.words,
            "characters": self.characters,
            "unknown_words": self.unknown_words,
            "unknown_share": self.unknown_words / self.words if self.words else 0.0,
            "known_words": self.known.tokens - self.sentences,
            "log_probability": -self.tokens.negative_log_likelihood,
            "perplexity_per_token": self.tokens.perplexity,
            "perplexity_per_word": self.perplexity_per_word,
            "perplexity_per_known_word": self.known.perplexity,
            "bits_per_character": self.bits_per_character,
        }


def impossible(log_probs: Sequence[float]) -> bool:
    """Whether one of them is of probability 0."""
    return -inf in log_probs
