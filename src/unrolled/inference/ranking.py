"""rank=true of score.py: which of these sentences is the likeliest?"""

from collections.abc import Sequence

from unrolled.errors import UserError
from unrolled.inference.columns import Detail
from unrolled.inference.details import LogProbabilities, log_probability
from unrolled.inference.scored_pieces import Pieces


class Ranked:
    """Lines after their log-probability, a tab between, the likeliest first; equal ones as they came.

    per_token: by log-probability / number of tokens with </s>, as long lines are the less likely ones.
    """

    def __init__(self, *, per_token: bool) -> None:
        self._per_token = per_token
        self._lines: list[tuple[float, str]] = []

    def show(self, lines: Sequence[str], scored: Sequence[Sequence[Pieces]]) -> str:
        """Nothing yet."""
        (found,) = scored
        for line, pieces in zip(lines, found, strict=True):
            self._lines.append((log_probability(pieces) / (len(pieces) if self._per_token else 1), line))
        return ""

    def end(self) -> str:
        """The lines."""
        ranked = sorted(self._lines, key=lambda entry: -entry[0])
        return "".join(f"{value:.6f}\t{line}\n" for value, line in ranked)


def in_order(rank: bool | str | None, detail: Detail, *, columns: int, context: str | None) -> Detail:
    """``detail`` without ``rank``, the likeliest first otherwise. UserError: what does not go together."""
    if not rank:
        return detail
    if rank is not True and rank != "per_token":
        raise UserError(f"rank={rank} is unknown: give true, or per_token to divide by the number of tokens")
    if not isinstance(detail, LogProbabilities):
        raise UserError("rank shows the log-probability of every line and no more: omit detail")
    if columns != 1:
        raise UserError("rank needs one opinion: give one run, or mixture='[...]'")
    if context == "text":
        raise UserError("rank compares lines by themselves, in any order: omit context=text")
    return Ranked(per_token=rank == "per_token")
