"""The four special tokens, the same in every vocabulary, and what a word is."""

import re

PAD, BOS, EOS, UNK = 0, 1, 2, 3


SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")  # by id


SILENT = (PAD, BOS, EOS)  # never part of decoded text


LONGEST = 10_000  # tokens of a sentence, outside training text: the attention to another that long takes 400 MB


SPACE = "\u2581"  # how pieces show a space, or where a word begins


WORD = re.compile(r"[^ \t\r\f\v]+")  # ASCII white space separates words, as in Pharaoh alignments


def split_words(line: str) -> list[str]:
    """The words between ASCII white space, whatever the tokenizer."""
    return WORD.findall(line)
