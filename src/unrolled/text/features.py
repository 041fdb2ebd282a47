"""Features that go with the letters of a source, such as V;PST;3;SG: tokens of their own.

A line is the text, and after tabs its features, as columns of a table are copied. No feature shares its id with a
letter, so each has an embedding of its own.
"""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from unrolled.files import write_bytes
from unrolled.text.lines import read_lines
from unrolled.text.tokenizer import Tokenizer, TokenizerChoice
from unrolled.text.tokens import UNK, WORD

TAB = "\t"


class FeatureTokenizer:
    """The tokens of another tokenizer, then those of the features; an unknown feature becomes <unk>.

    features: the first gets the id after the last of ``letters``. separator: between features; tabs separate them too.
    """

    FILE = "features.txt"

    def __init__(self, letters: Tokenizer, features: Sequence[str], separator: str) -> None:
        self.letters, self.features, self.separator = letters, [*features], separator
        self._ids = {feature: number for number, feature in enumerate(features, start=letters.size)}

    @property
    def size(self) -> int:
        """Number of ids, with the four special ones."""
        return self.letters.size + len(self.features)

    @property
    def sha256(self) -> str:
        """SHA-256 of both files."""
        return hashlib.sha256(self.letters.sha256.encode() + self._file()).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line's letters, then of its features, without <s> and </s>."""
        letters = self.letters.encode([text_of(line) for line in lines])
        of_features = [
            [self._ids.get(feature, UNK) for feature, _ in features_of(line, self.separator)] for line in lines
        ]
        return [ids + more for ids, more in zip(letters, of_features, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        """Text, a tab, and the features if there are any; <pad>, <s> and </s> leave no trace."""
        text = self.letters.decode([token for token in ids if token < self.letters.size])
        features = [self.features[token - self.letters.size] for token in ids if token >= self.letters.size]
        return TAB.join([text, self.separator.join(features)]) if features else text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written: features in brackets."""
        first = self.letters.size
        return [
            f"[{self.features[token - first]}]" if token >= first else self.letters.pieces([token])[0] for token in ids
        ]

    def words_of_pieces(self, line: str) -> list[int]:
        """See `Tokenizer`: features next to each other are one word."""
        ends = [word.end() for word in WORD.finditer(line)]
        features = [bisect_right(ends, place) for _, place in features_of(line, self.separator)]
        return self.letters.words_of_pieces(text_of(line)) + features

    def _file(self) -> bytes:
        """The separator, then a feature a line."""
        return "".join(f"{entry}\n" for entry in (self.separator, *self.features)).encode()

    def save(self, folder: Path) -> None:
        """Write both tokenizers into ``folder``."""
        self.letters.save(folder)
        write_bytes(folder / self.FILE, self._file())

    @classmethod
    def read(cls, folder: Path, letters: Tokenizer) -> "FeatureTokenizer":
        """Read what `save` wrote, except the ``letters``."""
        text = (folder / cls.FILE).read_bytes().decode()
        separator, *features = text.removesuffix("\n").split("\n")
        if not (text.endswith("\n") and separator) or len({*features}) < len(features):
            raise ValueError("features begin with their separator, and each is there once")
        return cls(letters, features, separator)


def text_of(line: str) -> str:
    """What is before the first tab."""
    return line.partition(TAB)[0]


def features_of(line: str, separator: str) -> list[tuple[str, int]]:
    """The features after the first tab, and where each begins in the line."""
    place = line.find(TAB)
    if place < 0:
        return []
    matches = re.compile(rf"(?:(?!{re.escape(separator)})[^\t])+").finditer(line, place)
    return [(feature, match.start() + match[0].index(feature)) for match in matches if (feature := match[0].strip())]


@dataclass(frozen=True, kw_only=True)
class WithFeatures:
    """The choice of a tokenizer for the letters, for text that has features. Its repr is part of the cache's key."""

    letters: TokenizerChoice
    separator: str
    joint: bool = False  # a target has no features

    def train(self, paths: Sequence[Path]) -> Tokenizer:
        """The tokenizer for the letters, and the features of text files: most frequent first, ties in order."""
        counts: Counter[str] = Counter()
        with TemporaryDirectory() as folder:
            copies = [Path(folder) / f"{number}.txt" for number, _ in enumerate(paths)]
            for path, copy in zip(paths, copies, strict=True):
                with copy.open("w", encoding="utf-8", newline="\n") as file:
                    for line in read_lines(path):
                        counts.update(feature for feature, _ in features_of(line, self.separator))
                        file.write(f"{text_of(line)}\n")
            letters = self.letters.train(copies)
        return FeatureTokenizer(
            letters, sorted(counts, key=lambda feature: (-counts[feature], feature)), self.separator
        )
