"""How many commands of NACS do what their source says, whatever their words.

    python benchmarks/nacs.py --data DIR RUN...

Several commands have the same actions ("jump twice", "jump and jump"), so that the reference is one answer of several:
the command is carried out, and its actions are compared with the source. DIR has test.{in,out} of SCAN; of each RUN the
share of right test translations is shown, in percent, also by the number of actions.
"""

import argparse
import sys
from itertools import groupby

from paths import TRANSLATIONS, holding
from scan_halves import by_length, lines, translations

TIMES = {"twice": 2, "thrice": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        required=True,
        type=holding("test.in", "test.out"),
        help="test.in, commands, and test.out, their actions",
    )
    parser.add_argument(
        "runs", nargs="+", type=holding(TRANSLATIONS), metavar="RUN", help="run folders of experiment=nacs"
    )
    chosen = parser.parse_args()
    commands, actions = lines(chosen.data / "test.in"), lines(chosen.data / "test.out")
    if [carried_out(command) for command in commands] != actions:
        sys.exit(f"{chosen.data}: test.in and test.out are not SCAN's commands and their actions")
    lengths = [len(line.split()) for line in actions]
    print("| run | as the reference | same actions | " + " | ".join(map(str, sorted({*lengths}))) + " |")
    print("|---" * (3 + len({*lengths})) + "|")
    for run in chosen.runs:
        written = translations(run, len(lengths))
        same = sum(one == other for one, other in zip(written, commands, strict=True))
        right = [carried_out(command) == line for command, line in zip(written, actions, strict=True)]
        of_lengths = by_length(lengths, right)
        print(f"| {run.name} | {percent(same, written)} | {percent(sum(right), written)} | {of_lengths} |")


def percent(count: int, among: list[str]) -> str:
    return f"{100 * count / len(among):.1f}"


def carried_out(command: str) -> str | None:
    """The actions of a command (Lake & Baroni 2018, appendix); None if it is no command."""
    parts = [list(words) for is_joint, words in groupby(command.split(), lambda word: word in ("and", "after"))]
    halves, joints = [half_carried_out(half) for half in parts[::2]], [" ".join(joint) for joint in parts[1::2]]
    if None in halves or len(halves) != len(joints) + 1 or joints not in ([], ["and"], ["after"]):
        return None
    actions = [action for half in (halves[::-1] if joints == ["after"] else halves) for action in half or []]
    return " ".join(actions)


def half_carried_out(words: list[str]) -> list[str] | None:
    """walk | walk left | walk opposite left | walk around left, and twice or thrice; turn only with a direction."""
    words, times = (words[:-1], TIMES[words[-1]]) if words and words[-1] in TIMES else (words, 1)
    verb, *way = words or [""]
    turn = [f"I_TURN_{way[-1].upper()}"] if way and way[-1] in ("left", "right") else []
    act = [] if verb == "turn" else [f"I_{verb.upper()}"]
    if verb not in ("walk", "look", "run", "jump", "turn") or (way and not turn) or (verb == "turn" and not way):
        return None
    match way[:-1]:
        case []:
            return (turn + act) * times
        case ["opposite"]:
            return (turn * 2 + act) * times
        case ["around"]:
            return (turn + act) * 4 * times
    return None


if __name__ == "__main__":
    main()
