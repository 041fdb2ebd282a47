"""The length of a source: in letters where sources are single words, as in letters to sounds, else in words."""

from collections.abc import Sequence

from unrolled.text.characters import cut
from unrolled.text.features import text_of
from unrolled.text.tokens import split_words


def single_words(sources: Sequence[str]) -> bool:
    """Whether most sources are one word, without their features. A dictionary may have a few of several words."""
    return 2 * sum(len(split_words(text_of(source))) <= 1 for source in sources) > len(sources)


def source_lengths(sources: Sequence[str]) -> tuple[str, list[int]]:
    """The unit, letters or words, and the length of each source, without its features."""
    texts = [text_of(source) for source in sources]
    if single_words(sources):
        return "letters", [len(cut(text, unit="grapheme", normalization="nfc")) for text in texts]
    return "words", [len(split_words(text)) for text in texts]
