"""The likelihood of a text: log-probabilities of its pieces, per word and summed over a corpus.

Models with different vocabularies predict different tokens, so their perplexities per token are not comparable. Their
probabilities of words, of characters and of the text are. Letters: N pieces of a line with </s>, W words.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import inf, log

from unrolled.metrics.perplexity import LogLikelihood
from unrolled.text.tokens import SPECIALS, UNK, split_words

BIT = log(2)  # in nats


def per_word(log_probs: Sequence[float], words_of_pieces: Sequence[int], words: int) -> list[float]:
    """Natural log p of each word given all words before it, and finally of </s>: W + 1 values from N.

    ``words_of_pieces (N - 1,)`` is the word of each piece except </s>, from the tokenizer.
    """
    sums = [0.0] * (words + 1)
    # log p(word | before) = sum of log p(piece | before) over its pieces
    for number, log_p in zip([*words_of_pieces, words], log_probs, strict=True):
        sums[number] += log_p
    return sums


def unknown_words(line: str, pieces: Sequence[str], words_of_pieces: Sequence[int]) -> list[int]:
    """The numbers of the words of ``line`` outside the vocabulary: those with <unk> among their pieces.

    A literal <unk> does not count: corpora such as PTB ship with it, and it is predicted like any word.
    """
    words = split_words(line)
    without = {number for piece, number in zip(pieces, words_of_pieces, strict=False) if piece == SPECIALS[UNK]}
    return [number for number in sorted(without) if number < len(words) and words[number] != SPECIALS[UNK]]


def words_without_pieces(line: str, words_of_pieces: Sequence[int]) -> set[int]:
    """The numbers of the words of ``line`` of which the tokenizer keeps nothing, such as a zero-width space."""
    return {*range(len(split_words(line)))} - {*words_of_pieces}


@dataclass
class TextLikelihood:
    """Sums over the lines of a text; every figure is divided once, at the end.

    characters: code points of the lines and one line end each, as ``wc -m`` counts them. known: the words that every
    model in a comparison knows and has a piece of, and </s>. Any unknown word is scored as <unk>, which is more likely
    the smaller the vocabulary is, so vocabularies are comparable over known words only.
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
        """Add a line: natural log p of its pieces and </s> ``(N,)``, their words, the numbers of unknown words.

        ``unknown_to_any``: by any model of the comparison, with the `words_without_pieces` of the others.
        """
        words = len(split_words(line))
        self.sentences += 1
        self.words += words
        self.characters += len(line) + 1
        self.unknown_words += len(unknown)
        self.tokens.add(-sum(log_probs), len(log_probs))
        by_word = enumerate(per_word(log_probs, words_of_pieces, words))
        omitted = words_without_pieces(line, words_of_pieces).union(unknown_to_any)
        known = [log_p for number, log_p in by_word if number not in omitted]
        self.known.add(-sum(known), len(known))

    @property
    def perplexity_per_word(self) -> float:
        """exp(-log p / (words + sentences)): every sentence has one </s>, as in published word-level figures."""
        return LogLikelihood(self.tokens.negative_log_likelihood, self.words + self.sentences).perplexity

    @property
    def bits_per_character(self) -> float:
        """-log2 p / characters; line ends count, represented by </s>."""
        return LogLikelihood(self.tokens.negative_log_likelihood, self.characters).loss / BIT

    def figures(self) -> dict[str, int | float]:
        """All figures by name."""
        return {
            "sentences": self.sentences,
            "tokens": self.tokens.tokens,
            "words": self.words,
            "characters": self.characters,
            "unknown_words": self.unknown_words,
            "unknown_share": self.unknown_words / self.words if self.words else 0.0,
            "known_words": self.known.tokens - self.sentences,
            "log_probability": 0.0 - self.tokens.negative_log_likelihood,  # and not -0.0
            "perplexity_per_token": self.tokens.perplexity,
            "perplexity_per_word": self.perplexity_per_word,
            "perplexity_per_known_word": self.known.perplexity,
            "bits_per_character": self.bits_per_character,
        }


def impossible(log_probs: Sequence[float]) -> bool:
    """Whether any of them belongs to probability 0."""
    return -inf in log_probs
