"""Dictionaries of dl4mt and Nematus: JSON, {word: id}, in which 0 ends a sentence and 1 is the unknown word."""

import json
import re
from pathlib import Path

from unrolled.errors import UserError
from unrolled.files import reading
from unrolled.text.lines import checked_file
from unrolled.text.subwords import SubwordTokenizer, is_cut, read_codes
from unrolled.text.tokenizer import WordTokenizer
from unrolled.text.tokens import SPECIALS, split_words

MEND = "give a dictionary in JSON, {word: id}"
END, UNKNOWN = ("eos", "<eos>", "<EOS>", "</s>"), ("UNK", "<unk>", "<UNK>")
FIRST = 2  # the id of the first word


def read_dictionary(path: Path, size: int) -> list[str]:
    """The words with ids 2 to ``size`` - 1, in that order; an id without a word gets a name that no text has.

    As in dl4mt, words with greater ids are unknown to the model. So are white space and our own special words, which
    no line of text yields. UserError: no JSON dictionary, other ids of end and unknown word, an id with two words.
    """
    if path.suffix in (".pkl", ".pickle"):
        raise UserError(
            f"{path}: a pickle can run any code, so it is never opened; convert it to JSON if you trust it "
            "(docs/museum.md says how), and give that"
        )
    with reading(checked_file(path), MEND):
        ids = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(ids, dict) or not all(type(number) is int and number >= 0 for number in ids.values()):
            raise ValueError("not every word has a whole number")
    words: dict[int, str] = {}
    for word, number in ids.items():
        if number in words:
            raise UserError(f"{path}: {words[number]!r} and {word!r} have the same id, {number}; {MEND}")
        words[number] = word
    for number, names in ((0, END), (1, UNKNOWN)):
        if words.get(number, names[0]) not in names:
            raise UserError(f"{path}: id {number} is {words[number]!r}, not {names[0]}, as in dl4mt and Theano-Nematus")
    if not any(FIRST <= number < size for number in words):
        raise UserError(f"{path}: none of its words has an id from {FIRST} to {size - 1}, as the model's have; {MEND}")
    return [_written(words.get(number, ""), number) for number in range(FIRST, size)]


def _written(word: str, number: int) -> str:
    """``word``, or a name with a space, which is in no text, for one that no line of text yields."""
    whole = not re.search("[\n\ud800-\udfff]", word)  # half of a surrogate pair is no letter
    return word if whole and split_words(word) == [word] and word not in SPECIALS else f"no word {number}"


def vocabularies(
    paths: tuple[Path, Path], sizes: tuple[int, int], codes: tuple[Path | None, Path | None]
) -> tuple[WordTokenizer, WordTokenizer]:
    """The tokenizers of source and target: words, or pieces where there are ``codes`` or @@ in the target's.

    Source text without codes is cut already, so that its pieces are its words.
    """
    source, target = (read_dictionary(path, size) for path, size in zip(paths, sizes, strict=True))
    cut_source, cut_target = (None if path is None else read_codes(path) for path in codes)
    return (
        WordTokenizer(source) if cut_source is None else SubwordTokenizer(source, cut_source),
        SubwordTokenizer(target, cut_target) if cut_target or is_cut(target) else WordTokenizer(target),
    )
