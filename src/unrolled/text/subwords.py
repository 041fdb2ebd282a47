"""Pieces that end in @@ where the next one belongs to the same word, as subword-nmt writes them."""

import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from typing_extensions import override

from unrolled.errors import UserError
from unrolled.files import write_bytes
from unrolled.text.lines import read_lines
from unrolled.text.tokenizer import LONG_WORD, WordTokenizer
from unrolled.text.tokens import SILENT, SPACE, SPECIALS, split_words

JOINER = "@@"
END = "</w>"  # of a word, in the codes
VERSION = "#version: 0.2"  # since when the end of a word is part of its last letter


class Codes:
    """Merges of byte pair encoding in the order in which they were learned (Sennrich et al. 2016, algorithm 1)."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)
        self._joined_end = lines[0].startswith(VERSION)
        # as in subword-nmt: any other space is a letter
        merges = [[symbol for symbol in line.split(" ") if symbol] for line in lines if not line.startswith("#version")]
        if not all(len(merge) == 2 for merge in merges):
            raise ValueError("every line of the codes is a pair of symbols")
        self._ranks = {(left, right): rank for rank, (left, right) in reversed(list(enumerate(merges)))}
        self._known: dict[str, list[str]] = {}

    def cut(self, word: str) -> list[str]:
        """The pieces of ``word``, with @@ after all but the last. A word longer than `LONG_WORD` is one piece."""
        if len(word) > LONG_WORD:  # every merge would read all of it
            return [word]
        if word not in self._known:
            parts = [*word[:-1], word[-1] + END] if self._joined_end else [*word, END]
            while len(parts) > 1:
                pair = min(pairwise(parts), key=lambda pair: self._ranks.get(pair, len(self.lines)))
                if pair not in self._ranks:
                    break
                parts = _merged(parts, pair)
            text = "\n".join(parts).removesuffix(END).removesuffix("\n")
            *first, last = text.split("\n")
            self._known[word] = [*(f"{piece}{JOINER}" for piece in first), last]
        return self._known[word]


def _merged(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """``parts`` with every occurrence of ``pair``, from left to right, as one."""
    merged: list[str] = []
    place = 0
    while place < len(parts):
        here = tuple(parts[place : place + 2]) == pair
        merged.append("".join(pair) if here else parts[place])
        place += 2 if here else 1
    return merged


class SubwordTokenizer(WordTokenizer):
    """A vocabulary of such pieces. Text has words, which the ``codes`` cut; without codes its words are pieces already.

    words: the pieces but the special ones; the first gets id 4.
    """

    FILE, CODES = "pieces.txt", "codes.txt"

    def __init__(self, words: Sequence[str], codes: Codes | None = None) -> None:
        super().__init__(words)
        self._codes = codes

    @property
    @override
    def sha256(self) -> str:
        """SHA-256 of both files."""
        codes = [] if self._codes is None else self._codes.lines
        return hashlib.sha256(self._file() + "\n".join([self.FILE, *codes]).encode()).hexdigest()

    @override
    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without <s> and </s>. A piece outside the vocabulary becomes <unk>."""
        return super().encode([" ".join(piece for word in self._cut(line) for piece in word) for line in lines])

    @override
    def decode(self, ids: Sequence[int]) -> str:
        """Words with a space between them; <pad>, <s> and </s> leave no trace."""
        return re.sub(f"{JOINER}( |$)", "", super().decode(ids))

    @override
    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written, as SentencePiece does: U+2581 marks the beginning of a word, and there is no @@."""
        written, begins = [], True
        for token, piece in zip(ids, super().pieces(ids), strict=True):
            written.append(piece if token in SILENT else SPACE * begins + piece.removesuffix(JOINER))
            begins = not piece.endswith(JOINER)
        return written

    @override
    def words_of_pieces(self, line: str) -> list[int]:
        """See `Tokenizer`."""
        return [number for number, word in enumerate(self._cut(line)) for _ in word]

    def _cut(self, line: str) -> list[list[str]]:
        """The pieces of each word of ``line``."""
        return [[word] if self._codes is None else self._codes.cut(word) for word in split_words(line)]

    @override
    def save(self, folder: Path) -> None:
        """Write pieces and codes into ``folder``."""
        if self._codes is not None:
            write_bytes(folder / self.CODES, "".join(f"{line}\n" for line in self._codes.lines).encode())
        super().save(folder)

    @classmethod
    @override
    def load(cls, folder: Path) -> "SubwordTokenizer":
        """Read what `save` wrote."""
        codes = read_codes(folder / cls.CODES) if (folder / cls.CODES).exists() else None
        return cls(cls._read(folder / cls.FILE), codes)


def read_codes(path: Path) -> Codes:
    """The codes in the file ``path``. UserError: no such file, or no codes of subword-nmt."""
    lines = [line for line in read_lines(path) if line.strip(" ")]
    try:
        return Codes(lines)
    except (ValueError, IndexError):
        raise UserError(f"{path}: these are not subword-nmt codes: each line must be a pair of symbols") from None


def is_cut(words: Sequence[str]) -> bool:
    """Whether a vocabulary has pieces that continue in the next one."""
    return any(word.endswith(JOINER) for word in words if word not in SPECIALS)
