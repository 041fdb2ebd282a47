"""rank=true of score.py: which of these sentences is the most likely?"""

from collections.abc import Sequence

from unrolled.errors import UserError
from unrolled.inference.columns import Detail
from unrolled.inference.details import LogProbabilities, log_probability
from unrolled.inference.scored_pieces import Pieces


class Ranked:
    """Log-probability, tab, line; the most likely first, equally likely ones in their original order.

    per_token: by log-probability / number of tokens with </s>, as long lines are less likely.
    """

    def __init__(self, *, per_token: bool) -> None:
        self._per_token = per_token
        self._lines: list[tuple[float, str]] = []

    def show(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> str:
        """Nothing yet."""
        (of_lines,) = scored
        for line, pieces in zip(lines, of_lines, strict=True):
            self._lines.append((log_probability(pieces) / (len(pieces) if self._per_token else 1), line))
        return ""

    def end(self) -> str:
        """The lines."""
        ranked = sorted(self._lines, key=lambda entry: -entry[0])
        return "".join(f"{value:.6f}\t{line}\n" for value, line in ranked)


def in_order(rank: bool | str | None, detail: Detail, *, columns: int, context: str | None) -> Detail:
    """``detail`` itself without ``rank``, else `Ranked`. UserError: options that exclude each other."""
    if not rank:
        return detail
    if rank is not True and rank != "per_token":
        raise UserError(f"rank={rank} is unknown: give true, or per_token to divide by the number of tokens")
    if not isinstance(detail, LogProbabilities):
        raise UserError("rank shows only the log-probability of each line: omit detail")
    if columns != 1:
        raise UserError("rank needs a single score: give one run, or mixture='[...]'")
    if context == "text":
        raise UserError("rank compares lines by themselves, in any order: omit context=text")
    return Ranked(per_token=rank == "per_token")
