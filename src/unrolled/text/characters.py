"""Characters as tokens, for words whose letters matter: Unicode's grapheme clusters, or code points.

Letter by letter any text comes back: spaces, tone marks, emoji, text from right to left, which is stored in the order
in which it is read.
"""

import hashlib
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import regex

from unrolled.errors import POSITIVE_WHOLE, UserError, check, check_choice
from unrolled.files import write_bytes
from unrolled.text.lines import read_lines
from unrolled.text.tokenizer import SIZES, Tokenizer
from unrolled.text.tokens import SILENT, SPACE, SPECIALS, UNK, WORD, split_words

UNITS = {"grapheme": regex.compile(r"\X"), "codepoint": regex.compile(r"(?s:.)")}
"""What counts as one character: what a reader sees as one (Unicode Standard Annex 29), or a code point."""
FORMS: dict[str, Literal["NFC", "NFD"] | None] = {"nfc": "NFC", "nfd": "NFD", "identity": None}
"""Unicode's normal forms: letters with their marks as one code point where there is one, or always separate."""
REPLACEMENT = "\ufffd"
"""Unicode's own character for an unknown one."""


class CharacterTokenizer:
    """Characters, including white space; one outside the vocabulary becomes <unk>. A blank line has none.

    characters: all but the special ones; the first gets id 4. unit: one of `UNITS`. normalization: one of `FORMS`,
    applied before text is cut. Decoded text is in NFC, except with identity, which changes nothing.
    """

    FILE = "characters.txt"

    def __init__(self, characters: Sequence[str], *, unit: str = "grapheme", normalization: str = "nfc") -> None:
        self._characters = [*SPECIALS, *characters]
        self._ids = {character: number for number, character in enumerate(characters, start=len(SPECIALS))}
        self._unit, self._normalization = unit, normalization

    @property
    def size(self) -> int:
        """Number of ids, with the four special ones."""
        return len(self._characters)

    @property
    def sha256(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self._file()).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without <s> and </s>."""
        return [[self._ids.get(character, UNK) for character in self._cut(line)] for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        """The text; <pad>, <s> and </s> leave no trace, <unk> becomes U+FFFD."""
        text = "".join(REPLACEMENT if token == UNK else self._characters[token] for token in ids if token not in SILENT)
        return text if self._normalization == "identity" else unicodedata.normalize("NFC", text)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written; U+2581 is a space."""
        return [SPACE if (piece := self._characters[token]) == " " else piece for token in ids]

    def words_of_pieces(self, line: str) -> list[int]:
        """See `Tokenizer`: white space belongs to the word that follows."""
        cut = self._cut(line)
        ends = [word.end() for word in WORD.finditer("".join(cut))]  # normal forms leave white space as it is
        numbers, start = [], 0
        for character in cut:
            numbers.append(bisect_right(ends, start))
            start += len(character)
        return numbers

    def _cut(self, line: str) -> list[str]:
        return cut(line, unit=self._unit, normalization=self._normalization)

    def _file(self) -> bytes:
        """Unit and normalisation, then one character a line, the one with id 0 first."""
        return "".join(f"{entry}\n" for entry in (f"{self._unit} {self._normalization}", *self._characters)).encode()

    def save(self, folder: Path) -> None:
        """Write the characters into ``folder``."""
        write_bytes(folder / self.FILE, self._file())

    @classmethod
    def load(cls, folder: Path) -> "CharacterTokenizer":
        """Read what `save` wrote. Only a line feed ends a line: no character holds one."""
        text = (folder / cls.FILE).read_bytes().decode()
        head, *characters = text.removesuffix("\n").split("\n")
        unit, _, normalization = head.partition(" ")
        known = unit in UNITS and normalization in FORMS
        specials, rest = characters[: len(SPECIALS)], characters[len(SPECIALS) :]
        if not (known and text.endswith("\n") and specials == [*SPECIALS] and len({*characters}) == len(characters)):
            raise ValueError("characters begin with their unit and normal form, then the special ones, each once")
        return cls(rest, unit=unit, normalization=normalization)


def cut(line: str, *, unit: str, normalization: str) -> list[str]:
    """The characters of ``line``, which joined are its normal form; none for a blank line."""
    if not split_words(line):
        return []
    form = FORMS[normalization]
    characters: list[str] = UNITS[unit].findall(line if form is None else unicodedata.normalize(form, line))
    return characters


def train_characters(
    lines: Iterable[str], *, unit: str, normalization: str, size: int | None, min_count: int
) -> CharacterTokenizer:
    """The most frequent characters, most frequent first, equally frequent ones in code point order.

    UserError: text without a character.
    """
    counts = Counter(character for line in lines for character in cut(line, unit=unit, normalization=normalization))
    kept = sorted(
        (character for character in counts if counts[character] >= min_count),
        key=lambda character: (-counts[character], character),
    )
    if not kept:
        raise UserError(f"tokenizer: no character occurs {min_count} times in the training text; give more text")
    return CharacterTokenizer(
        kept[: None if size is None else size - len(SPECIALS)], unit=unit, normalization=normalization
    )


@dataclass(frozen=True, kw_only=True)
class Characters:
    """The choice of characters.

    unit: grapheme or codepoint. normalization: nfc, nfd, or identity. size: number of ids at most, with the four
    special ones; None for all. min_count: rarer characters become <unk>. joint: one vocabulary for both sides.
    """

    unit: str = "grapheme"
    normalization: str = "nfc"
    size: int | None = None
    min_count: int = 1
    joint: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_choice("tokenizer.unit", self.unit, UNITS)
        check_choice("tokenizer.normalization", self.normalization, FORMS)
        check("tokenizer.size", self.size, replace(SIZES, also=(None,)))
        check("tokenizer.min_count", self.min_count, POSITIVE_WHOLE)

    def train(self, paths: Sequence[Path]) -> Tokenizer:
        """Count the characters of text files."""
        lines = (line for path in paths for line in read_lines(path))
        return train_characters(
            lines, unit=self.unit, normalization=self.normalization, size=self.size, min_count=self.min_count
        )
