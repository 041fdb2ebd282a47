"""ARPA files: back-off n-gram models as text, the format of SRILM, KenLM and others.

    \\data\\            then ``ngram 1=...``, ``ngram 2=...``: how many of each length
    \\1-grams:         log10 p <tab> word <tab> log10 back-off weight
    \\2-grams:         log10 p <tab> two words; the longest n-grams have no back-off weight
    \\end\\

A probability of 0 is written as -99. M n-grams of one length k, V vocabulary.
"""

import math
import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unrolled.errors import UserError
from unrolled.ngram.model import LONGEST, NgramLanguageModel, ngram_lm
from unrolled.ngram.trie import MisplacedNgram, NgramBlock
from unrolled.text.lines import read_lines
from unrolled.text.tokenizer import Tokenizer, WordTokenizer
from unrolled.text.tokens import BOS, EOS, PAD, SPECIALS, UNK, split_words

ZERO = -99.0


NAMES = {SPECIALS[BOS]: BOS, SPECIALS[EOS]: EOS, SPECIALS[UNK]: UNK, "<UNK>": UNK}


class Rows(NamedTuple):
    """n-grams of one length: ``ids (M, k)``, base 10 ``log_probs (M,)`` and, if they are not the longest,
    ``log_backoffs (M,)``.
    """

    ids: NDArray[Any]
    log_probs: NDArray[Any]
    log_backoffs: NDArray[Any]


def write_arpa(file: TextIO, pieces: Sequence[str], sizes: Sequence[int], lengths: Iterable[Iterable[Rows]]) -> None:
    """Write a model: ``sizes`` of all lengths, and the n-grams of each. ``pieces``: how each id is written.

    <pad> is not written: it may be one of the single words, but must not occur in longer n-grams.
    UserError: a piece with white space in it, before anything is written.
    """
    spaced = next((piece for piece in pieces if split_words(piece) != [piece]), None)
    if spaced is not None:
        raise UserError(f"an ARPA file cannot have the piece {spaced!r}, as white space separates its words")
    file.write("\\data\\\n")
    for length, size in enumerate(sizes, start=1):
        file.write(f"ngram {length}={size - (length == 1)}\n")
    for length, blocks in enumerate(lengths, start=1):
        file.write(f"\n\\{length}-grams:\n")
        for rows in blocks:
            file.writelines(_lines(rows, pieces, drop_padding=length == 1))
    file.write("\n\\end\\\n")


def _lines(rows: Rows, pieces: Sequence[str], *, drop_padding: bool) -> Iterator[str]:
    log_probs = np.maximum(rows.log_probs, ZERO).tolist()
    weights = [f"\t{weight:.7f}" for weight in np.maximum(rows.log_backoffs, ZERO).tolist()]
    for ids, log_p, weight in zip(rows.ids.tolist(), log_probs, weights or [""] * len(log_probs), strict=True):
        if not (drop_padding and ids[0] == PAD):
            yield f"{log_p:.7f}\t{' '.join([pieces[number] for number in ids])}{weight}\n"


class Arpa(NamedTuple):
    """A model as read: ``words`` with ids from 4, and the n-grams of each length; of single words all V, by id."""

    words: list[str]
    lengths: list[Rows]


def read_arpa(path: str | Path) -> Arpa:
    """Read a file, plain or gzipped. A word that it lacks, such as <unk> in a closed vocabulary, gets probability 0.

    UserError with file and line: not an ARPA file, no 1-grams, numbers of n-grams other than stated, a word that is no
    1-gram, a probability above 1.
    """
    reader = _Reader(path)
    sizes = reader.header()
    lengths = [reader.section(length, size, longest=len(sizes)) for length, size in enumerate(sizes, start=1)]
    words = reader.words
    return Arpa(words, [_all_words(lengths[0], len(SPECIALS) + len(words)), *lengths[1:]])


class _Reader:
    """The lines of the file and the current position."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.number = 0
        self.ids = dict(NAMES)
        self.words: list[str] = []
        self._lines = read_lines(path)

    def header(self) -> list[int]:
        """The number of n-grams of each length."""
        while self._line() != "\\data\\":  # everything before it is a comment
            pass
        sizes: list[int] = []
        while entry := re.fullmatch(r"ngram\s+(\d{1,9})\s*=\s*(\d{1,18})", line := self._line()):
            if int(entry[1]) != len(sizes) + 1:
                raise self._mistake(f"{line!r} should be about length {len(sizes) + 1}")
            if len(sizes) == LONGEST:
                raise self._mistake(f"n-grams of {len(sizes) + 1} words; at most {LONGEST} can be read")
            if not sizes and int(entry[2]) == 0:
                raise self._mistake(f"{line!r}: there is no 1-gram, so no word has a probability")
            sizes.append(int(entry[2]))
        if not sizes or line != "\\1-grams:":
            raise self._mistake(f"{line!r} should be 'ngram LENGTH=NUMBER' or '\\1-grams:'")
        return sizes

    def section(self, length: int, size: int, *, longest: int) -> Rows:
        """The n-grams of one length, after its heading; also reads the next heading."""
        ids, log_probs, weights = array("i"), array("f"), array("f")
        single: set[str] = set()
        following = f"\\{length + 1}-grams:" if length < longest else "\\end\\"
        while (line := self._line()) != following:
            fields = [field for field in line.replace("\t", " ").split(" ") if field]
            if not length + 1 <= len(fields) <= length + 1 + (length < longest):
                raise self._mistake(f"{line!r} is no {length}-gram, nor is it {following}")
            words = fields[1 : length + 1]
            if length == 1:
                if words[0] == SPECIALS[PAD]:
                    raise self._mistake(f"{words[0]} is the name of padding here: give this word another name")
                if words[0] in single:
                    raise self._mistake(f"the 1-gram {words[0]!r} occurs twice")
                self._number(words[0], single, ids)
                single.add(words[0])
            try:
                ids.extend([self.ids[word] for word in words])
                log_probs.append(_decimal(fields[0]))
                weights.append(_decimal(fields[length + 1]) if len(fields) > length + 1 else 0.0)
            except KeyError as problem:
                raise self._mistake(f"the word {problem.args[0]!r} is no 1-gram") from problem
            except ValueError as problem:
                raise self._mistake(f"{line!r} has something else where a number should be") from problem
            if not log_probs[-1] <= 0:
                raise self._mistake(f"{line!r} has a probability above 1, or none")
            if not weights[-1] < math.inf:
                raise self._mistake(f"{line!r} has a weight for backing off that is infinite, or none")
        if len(log_probs) != size:
            raise self._mistake(f"here end {len(log_probs)} {length}-grams, but the head of the file says {size}")
        rows = Rows(np.array(ids).reshape(-1, length), np.array(log_probs), np.array(weights))
        for logs in rows[1:]:
            logs[logs <= ZERO] = -np.inf
        return rows

    def _number(self, word: str, before: Collection[str], ids: "array[int]") -> None:
        """Give a 1-gram its id; ``before``: earlier ones, with ``ids``. With <unk>, <UNK> is a word like any other."""
        if word == SPECIALS[UNK] and "<UNK>" in before:
            ids[ids.index(UNK)] = self._new_id("<UNK>")
        elif word not in self.ids or (word == "<UNK>" and SPECIALS[UNK] in before):
            self._new_id(word)

    def _new_id(self, word: str) -> int:
        self.ids[word] = len(SPECIALS) + len(self.words)
        self.words.append(word)
        return self.ids[word]

    def _line(self) -> str:
        """The next line that is not blank."""
        for line in self._lines:
            self.number += 1
            if stripped := line.strip(" \t"):
                return stripped
        raise self._mistake("the file ends too early: it is no ARPA file, or not a whole one")

    def _mistake(self, what: str) -> UserError:
        return UserError(f"{self.path}:{self.number}: {what}")


def _decimal(text: str) -> float:
    """The number that ``text`` writes. ValueError: another text, also one that only Python reads as a number."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text} is no number")
    return float(text)


def _all_words(single: Rows, vocabulary: int) -> Rows:
    """The single words by ascending id; those that the file lacks, and <s>, have p = 0."""
    ids = single.ids[:, 0]
    log_probs, weights = np.full(vocabulary, -np.inf, dtype=np.float32), np.zeros(vocabulary, dtype=np.float32)
    log_probs[ids], weights[ids] = single.log_probs, single.log_backoffs
    log_probs[BOS] = -np.inf  # nothing predicts it, but KenLM writes that it is certain
    return Rows(np.arange(vocabulary)[:, None], log_probs, weights)


LN_10 = math.log(10)


ROWS = 10_000


"""The number of n-grams written at a time."""


def save_arpa(model: NgramLanguageModel, tokenizer: Tokenizer, file: TextIO) -> None:
    """Write ``model``, with words as ``tokenizer`` writes them."""
    lengths = ((_rows(block) for block in blocks) for blocks in model.stored(ROWS))
    write_arpa(file, tokenizer.pieces(range(tokenizer.size)), model.sizes(), lengths)


def load_arpa(path: str | Path) -> tuple[NgramLanguageModel, WordTokenizer]:
    """The model in a file, and its words as a tokenizer. UserError: an incomplete file."""
    words, lengths = read_arpa(path)
    tokenizer = WordTokenizer(words)
    model = ngram_lm(
        source_vocabulary=None,
        target_vocabulary=tokenizer.size,
        attention=None,
        order=len(lengths),
        estimator=None,
    )
    blocks = [
        NgramBlock(torch.from_numpy(ids), torch.from_numpy(log_probs) * LN_10, torch.from_numpy(weights) * LN_10)
        for ids, log_probs, weights in lengths
    ]
    try:
        model.fill(blocks)
    except MisplacedNgram as problem:
        raise UserError(f"{path}: the n-gram {tokenizer.pieces(problem.words)} {problem.what}") from problem
    return model, tokenizer


def _rows(block: NgramBlock) -> Rows:
    def base_10(logs: Tensor) -> Tensor:
        return logs.double() / LN_10

    return Rows(block.words.numpy(), base_10(block.log_probs).numpy(), base_10(block.log_backoffs).numpy())
