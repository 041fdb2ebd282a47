"""Lines that are too long for a translator: cut, or refused."""

import logging
from collections.abc import Callable, Sequence

from unrolled.errors import UserError, check_choice
from unrolled.text.tokenizer import Tokenizer
from unrolled.text.tokens import WORD

log = logging.getLogger(__name__)
CHOICES = ("truncate", "refuse")
LETTERS = 100  # of a token; anything longer is no text


def shortened(
    lines: Sequence[str], tokenizer: Tokenizer, *, max_length: int, longer: str, where: Callable[[int], str]
) -> list[str]:
    """``lines`` with at most ``max_length`` tokens each; ``longer`` is truncate, with a warning, or refuse: UserError.

    where: the name of a line, by its number from 0, such as "standard input:3".
    """
    check_choice("longer", longer, CHOICES)
    short = [line[: LETTERS * max_length] for line in lines]  # before the tokenizer, which may take long over the rest
    for number, ids in enumerate(tokenizer.encode(short)):
        cut = len(short[number]) < len(lines[number])
        if cut or len(ids) > max_length:
            tokens = f"{'at least ' if cut else ''}{len(ids)} tokens are more than max_length={max_length}"
            letters = f"more than {LETTERS * max_length:,} letters, {LETTERS} for each token of max_length={max_length}"
            what = f"{where(number)}: {tokens if len(ids) > max_length else letters}"
            if longer == "refuse":
                raise UserError(f"{what}; split the line, raise max_length, or give longer=truncate")
            log.warning("%s; the rest is omitted", what)
            if len(ids) > max_length:
                short[number] = _beginning(short[number], ids, tokenizer, max_length)
    return short


def _beginning(line: str, ids: Sequence[int], tokenizer: Tokenizer, most: int) -> str:
    """The words of ``line`` that are complete within the first ``most`` tokens; if there are none, these tokens."""
    complete = tokenizer.words_of_pieces(line)[most]
    ends = [word.end() for word in WORD.finditer(line)]
    return line[: ends[complete - 1]] if complete else tokenizer.decode(ids[:most])
