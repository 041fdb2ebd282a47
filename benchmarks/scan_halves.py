"""Which commands of SCAN's test by length can be put together from halves that the training set has.

    python benchmarks/scan_halves.py --data DIR RUN...

A command is a half, or two halves with "and" or "after" between them. DIR has {train,test}.in and test.out. Of each RUN
the right test translations are counted: of commands whose halves all occur in training, and of the others. Those that
stop early are wrong, and the beginning of the reference. The last columns are percentages of right translations, by
number of actions.
"""

import argparse
import itertools
import re
import sys
from collections import Counter
from pathlib import Path

from paths import TRANSLATIONS, holding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", required=True, type=holding("train.in", "test.in", "test.out"), help="{train,test}.in and test.out"
    )
    parser.add_argument(
        "runs", nargs="+", type=holding(TRANSLATIONS), metavar="RUN", help="run folders of experiment=scan_length"
    )
    chosen = parser.parse_args()
    known = {half for line in lines(chosen.data / "train.in") for half in halves(line)}
    made_of_known = [set(halves(line)) <= known for line in lines(chosen.data / "test.in")]
    references = lines(chosen.data / "test.out")
    lengths = [len(line.split()) for line in references]
    print("| run | halves known | others | stop early | " + " | ".join(map(str, sorted({*lengths}))) + " |")
    print("|---" + "|---:" * (3 + len({*lengths})) + "|")
    for run in chosen.runs:
        written = translations(run, len(lengths))
        pairs = list(zip(made_of_known, written, references, strict=True))
        early = sum(reference.startswith(hypothesis) for _, hypothesis, reference in pairs if hypothesis != reference)
        of_lengths = by_length(lengths, [hypothesis == reference for _, hypothesis, reference in pairs])
        print(f"| {run.name} | {right(pairs, True)} | {right(pairs, False)} | {early} | {of_lengths} |")


def lines(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text("utf-8").splitlines()]


def translations(run: Path, number: int) -> list[str]:
    """The test translations of ``run``; SystemExit if they are not of this ``number`` of sentences."""
    written = lines(run / TRANSLATIONS)
    if len(written) != number:
        sys.exit(f"{run} has {len(written)} translations, and --data {number} sentences: name a run of this text")
    return written


def by_length(lengths: list[int], are_right: list[bool]) -> str:
    """The percentage of lines that are right, for each length in ascending order."""
    number, of_length = Counter(lengths), Counter(itertools.compress(lengths, are_right))
    return " | ".join(f"{100 * of_length[length] / number[length]:.0f}" for length in sorted(number))


def halves(command: str) -> list[str]:
    return re.split(r" (?:and|after) ", command)


def right(pairs: list[tuple[bool, str, str]], known: bool) -> str:
    of_kind = [hypothesis == reference for made_of_known, hypothesis, reference in pairs if made_of_known is known]
    return f"{sum(of_kind)} of {len(of_kind)}"


if __name__ == "__main__":
    main()
