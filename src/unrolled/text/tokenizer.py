"""Text to token ids and back: SentencePiece subwords, or white-space words; characters have a file of their own.

Ids 0 to 3 mean the same in every vocabulary. Tokenizers are trained on training text only, and saved without pickle.
"""

import hashlib
import io
import logging
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from unrolled.errors import POSITIVE_WHOLE, Numbers, UserError, check, check_choice
from unrolled.files import reading, write_bytes
from unrolled.text.lines import count_lines, read_lines
from unrolled.text.tokens import BOS, EOS, PAD, SILENT, SPACE, SPECIALS, UNK, WORD

log = logging.getLogger(__name__)


NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")


MANY = 10_000  # lines from which on training a tokenizer says so, as it takes seconds to minutes
SAMPLE = 1_000_000  # lines of a file that SentencePiece is trained on; it holds them in memory


SIZES = Numbers(least=len(SPECIALS) + 1, most=10**7, whole=True)  # <pad>, <s>, </s> and <unk> alone are no vocabulary


LONG_LINE = 10_000  # characters from which on a line is encoded in parts


LONG_WORD = 1_000  # letters; SentencePiece would be trained on a word of a million for hours


BETWEEN_WORDS = re.compile(r"(?<=\w) (?=\w)")  # neither normalisation nor SentencePiece looks across such a space


class Tokenizer(Protocol):
    """What every tokenizer offers."""

    @property
    def size(self) -> int:
        """Number of ids, with the four special ones."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the tokenizer's file."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without <s> and </s>."""

    def decode(self, ids: Sequence[int]) -> str:
        """Detokenised text; <pad>, <s> and </s> leave no trace."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written, including special ones."""

    def words_of_pieces(self, line: str) -> list[int]:
        """For each id of ``line`` the number of its word in `split_words`, in non-decreasing order.

        Pieces without a word, which odd characters after the last word may produce, have the number of words.
        """

    def save(self, folder: Path) -> None:
        """Write the tokenizer into ``folder``, from which `load_tokenizer` reads it."""


class TokenizerChoice(Protocol):
    """What ``tokenizer=`` chooses: how tokenizers are trained. A dataclass, as its repr is part of the cache's key.

    If its tokenizers are not from this file, it also has ``load(folder) -> Tokenizer``, the inverse of their ``save``.
    """

    @property
    def joint(self) -> bool:
        """Whether source and target have one vocabulary."""
        ...

    def train(self, paths: Sequence[Path]) -> Tokenizer:
        """A tokenizer for the text of all ``paths``."""
        ...


class SentencePieceTokenizer:
    """Subwords of a SentencePiece model (Kudo and Richardson 2018). U+2581 in the text counts as a space."""

    FILE = "sentencepiece.model"

    def __init__(self, model: bytes) -> None:
        import sentencepiece  # which a vocabulary of words need not wait for

        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        ids = self._processor
        if (ids.pad_id(), ids.bos_id(), ids.eos_id(), ids.unk_id()) != (PAD, BOS, EOS, UNK):
            raise ValueError("ids 0 to 3 are not those of <pad>, <s>, </s> and <unk>")

    @property
    def size(self) -> int:
        """Number of ids, with the four special ones."""
        return int(self._processor.get_piece_size())

    @property
    def sha256(self) -> str:
        """SHA-256 of the model file."""
        return hashlib.sha256(self._model).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without <s> and </s>."""
        if not any(len(line) > LONG_LINE for line in lines):
            encoded: list[list[int]] = self._processor.encode(list(lines))
            return encoded
        # time grows faster than the length of a line, and no piece crosses a space
        segmented = [at_spaces(line) for line in lines]
        ids = iter(self._processor.encode([segment for line in segmented for segment in line]))
        return [[token for _ in line for token in next(ids)] for line in segmented]

    def decode(self, ids: Sequence[int]) -> str:
        """Detokenised text; <pad>, <s> and </s> leave no trace, <unk> becomes a double question mark."""
        return str(self._processor.decode([int(token) for token in ids if token not in SILENT]))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written; U+2581 marks the beginning of a word."""
        return [self._processor.id_to_piece(int(token)) for token in ids]

    def words_of_pieces(self, line: str) -> list[int]:
        """See `Tokenizer`. Normalisation may join, split and drop characters; a lone U+2581 belongs to what follows."""
        normalized, origins = self._processor.normalize(line, with_offsets=True)
        ends = [word.end() for word in WORD.finditer(line)]
        numbers, start = [], 0
        for piece in self._processor.encode(line, out_type=str):  # joined, they are the normalised line
            first = start + len(piece) - len(piece.lstrip(SPACE))
            numbers.append(bisect_right(ends, origins[first]))
            start += len(piece)
        assert start == len(normalized)
        return numbers

    def save(self, folder: Path) -> None:
        """Write the model into ``folder``."""
        write_bytes(folder / self.FILE, self._model)

    @classmethod
    def load(cls, folder: Path) -> "SentencePieceTokenizer":
        """Read what `save` wrote."""
        return cls((folder / cls.FILE).read_bytes())


class WordTokenizer:
    """Words between ASCII white space; a word outside the vocabulary becomes <unk>.

    words: all but the special ones; the first gets id 4.
    """

    FILE = "words.txt"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [*SPECIALS, *words]
        self._ids = {word: number for number, word in enumerate(words, start=len(SPECIALS))}

    @property
    def size(self) -> int:
        """Number of ids, with the four special ones."""
        return len(self._words)

    @property
    def sha256(self) -> str:
        """SHA-256 of the word list."""
        return hashlib.sha256(self._file()).hexdigest()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, without <s> and </s>. Special words written in the text become <unk>."""
        return [[self._ids.get(word, UNK) for word in WORD.findall(line)] for line in lines]

    def decode(self, ids: Sequence[int]) -> str:
        """Words with a space between them; <pad>, <s> and </s> leave no trace."""
        return " ".join(self._words[token] for token in ids if token not in SILENT)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """How each id is written."""
        return [self._words[token] for token in ids]

    def words_of_pieces(self, line: str) -> list[int]:
        """See `Tokenizer`: every id is a word."""
        return list(range(len(WORD.findall(line))))

    def _file(self) -> bytes:
        """One word a line, the word with id 0 on the first line."""
        return "".join(f"{word}\n" for word in self._words).encode()

    def save(self, folder: Path) -> None:
        """Write the words into ``folder``."""
        write_bytes(folder / self.FILE, self._file())

    @classmethod
    def load(cls, folder: Path) -> "WordTokenizer":
        """Read what `save` wrote. Only a line feed ends a word: other line breaks may occur within one."""
        return cls(cls._read(folder / cls.FILE))

    @staticmethod
    def _read(path: Path) -> list[str]:
        """The words but the special ones."""
        text = path.read_bytes().decode()
        words = text.removesuffix("\n").split("\n")
        if not text.endswith("\n") or words[: len(SPECIALS)] != [*SPECIALS] or len(set(words)) < len(words):
            raise ValueError(f"a vocabulary begins with {' '.join(SPECIALS)} and has every word once")
        return words[len(SPECIALS) :]


def at_spaces(line: str) -> list[str]:
    """``line`` in parts of about ``LONG_LINE`` characters, cut at spaces between words, which are left out."""
    parts, start = [], 0
    while len(line) - start > LONG_LINE and (space := BETWEEN_WORDS.search(line, start + LONG_LINE)):
        parts.append(line[start : space.start()])
        start = space.end()
    return [*parts, line[start:]]


Load = Callable[[Path], Tokenizer]
"""Reads a tokenizer of a kind that is not in this file, from the folder that `Tokenizer.save` wrote."""


def load_tokenizer(folder: Path, load: Load | None = None) -> Tokenizer:
    """The tokenizer in ``folder``, of any kind, or read by ``load``. UserError if there is none, or a damaged one."""
    from unrolled.text.features import FeatureTokenizer  # which knows this file

    letters = _load(folder, load)
    if not (folder / FeatureTokenizer.FILE).exists():
        return letters
    with reading(folder / FeatureTokenizer.FILE):
        return FeatureTokenizer.read(folder, letters)


def _load(folder: Path, load: Load | None) -> Tokenizer:
    """The tokenizer without its features."""
    from unrolled.text.characters import CharacterTokenizer  # which know this file
    from unrolled.text.subwords import SubwordTokenizer

    for kind in (SentencePieceTokenizer, WordTokenizer, CharacterTokenizer, SubwordTokenizer):
        if (folder / kind.FILE).exists():
            with reading(folder / kind.FILE):
                return kind.load(folder)
    if load is not None and folder.is_dir():
        return load(folder)
    raise UserError(f"{folder}: there is no tokenizer; give a folder that training has written")


def save_tokenizers(folder: Path, source: Tokenizer | None, target: Tokenizer) -> None:
    """Write ``folder``/source, if there is a source, and ``folder``/target."""
    if source is not None:
        source.save(folder / "source")
    target.save(folder / "target")


def fingerprint(source: Tokenizer | None, target: Tokenizer) -> dict[str, str]:
    """SHA-256 of the tokenizers, by "tokenizer.source" and "tokenizer.target"."""
    sides = {"source": source, "target": target}
    return {f"tokenizer.{side}": tokenizer.sha256 for side, tokenizer in sides.items() if tokenizer is not None}


def train_sentencepiece(
    lines: Sequence[str],
    *,
    kind: str,
    size: int,
    normalization: str = "nmt_nfkc",
    character_coverage: float = 1.0,
) -> SentencePieceTokenizer:
    """Train SentencePiece on ``lines``; the same lines always give the same model.

    In words of more than ``LONG_WORD`` letters, each thousand letters count as a word.

    kind: "unigram" or "bpe". size: number of ids, lowered with a notice if the text has fewer pieces.
    UserError: text without a character, a size below the number of characters.
    """
    import sentencepiece

    if len(lines) >= MANY:
        log.info("tokenizer: learning %s pieces from %s lines", f"{size:,}", f"{len(lines):,}")
    while True:
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(re.sub(rf"(\S{{{LONG_WORD}}})(?=\S)", r"\1 ", line) for line in lines),
                model_writer=model,
                model_type=kind,
                vocab_size=size,
                normalization_rule_name=normalization,
                character_coverage=character_coverage,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                max_sentence_length=2**30,  # in bytes; longer lines would be dropped silently
                num_threads=4,
                minloglevel=2,
            )
            return SentencePieceTokenizer(model.getvalue())
        except RuntimeError as problem:
            if too_high := re.search(r"too high \(\d+\).*value <= (\d+)", str(problem)):
                largest = int(too_high[1])
                log.info("tokenizer: size %d is more than the text has pieces; lowered to %d", size, largest)
                size = largest
            elif too_low := re.search(r"required_chars\. \d+ vs (\d+)", str(problem)):
                raise UserError(
                    f"tokenizer: size={size} is too small: the text's characters alone take {too_low[1]};"
                    " raise size to at least that"
                ) from problem
            elif re.search(r"!sentences_\.empty|all_chars_count", str(problem)):
                raise UserError("tokenizer: the training text has only blank lines; give text to train on") from problem
            else:
                raise


def train_words(lines: Iterable[str], *, size: int | None = None, min_count: int = 1) -> WordTokenizer:
    """The most frequent words of ``lines``, most frequent first, equally frequent ones in code point order.

    size: number of ids at most, with the four special ones; None for no limit. Words rarer than min_count are dropped.
    UserError: text without a word.
    """
    counts = Counter(word for line in lines for word in WORD.findall(line))
    words = [word for word, count in counts.items() if count >= min_count and word not in SPECIALS]
    if not words:
        raise UserError(f"tokenizer: no word occurs min_count={min_count} times in the training text; give more text")
    words.sort(key=lambda word: (-counts[word], word))
    if size is not None and len(SPECIALS) + len(words) < size:
        log.info("tokenizer: size %d is more than the text has words; lowered to %d", size, len(SPECIALS) + len(words))
    return WordTokenizer(words[: None if size is None else size - len(SPECIALS)])


@dataclass(frozen=True, kw_only=True)
class SentencePiece:
    """The choice of subwords.

    kind: "unigram" or "bpe". size: number of ids, with the four special ones. joint: one vocabulary for both sides, as
    tied embeddings need. normalization: the name of a SentencePiece rule. character_coverage: share of the text's
    characters that the vocabulary covers; 0.9995 for scripts with thousands of characters.
    """

    kind: str = "unigram"
    size: int = 8000
    joint: bool = True
    normalization: str = "nmt_nfkc"
    character_coverage: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check_choice("tokenizer.kind", self.kind, ("unigram", "bpe"))
        check_choice("tokenizer.normalization", self.normalization, NORMALIZATIONS)
        check("tokenizer.size", self.size, SIZES)
        check("tokenizer.character_coverage", self.character_coverage, Numbers(least=0.98, most=1))

    def train(self, paths: Sequence[Path]) -> Tokenizer:
        """Train on text files; on a million evenly spread lines of a larger file."""
        lines: list[str] = []
        for path in paths:
            step = -(-count_lines(path) // SAMPLE)
            lines.extend(islice(read_lines(path), 0, None, step))
        return train_sentencepiece(
            lines,
            kind=self.kind,
            size=self.size,
            normalization=self.normalization,
            character_coverage=self.character_coverage,
        )


@dataclass(frozen=True, kw_only=True)
class Words:
    """The choice of white-space words.

    size: number of ids at most, with the four special ones; None for all words. min_count: rarer words become <unk>.
    joint: one vocabulary for both sides.
    """

    size: int | None = None
    min_count: int = 1
    joint: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        check("tokenizer.size", self.size, replace(SIZES, also=(None,)))
        check("tokenizer.min_count", self.min_count, POSITIVE_WHOLE)

    def train(self, paths: Sequence[Path]) -> Tokenizer:
        """Count the words of text files."""
        lines = (line for path in paths for line in read_lines(path))
        return train_words(lines, size=self.size, min_count=self.min_count)
