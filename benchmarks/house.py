"""The table of docs/architecture.md: lines per room, the ways to the loss and to a translation, start-up, the suite.

    git worktree add ../before b94e679
    python benchmarks/house.py --against ../before [--rounds 5]
    python benchmarks/house.py --suite

Start-up is that of benchmarks/startup.py --against. --suite: the whole suite by pytest's own settings, its seconds and
CPU seconds with those of all processes that it starts; for each folder of tests/ the seconds that its tests took, all
of pytest's workers together.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from paths import existing
from startup import compare

ROOT = Path(__file__).resolve().parents[1]


def lines_of(tree: Path) -> Counter[str]:
    """Lines of Python for each room of a source tree; files that are in no room are ``src``."""
    lines: Counter[str] = Counter()
    for path in (tree / "src").rglob("*.py"):
        package, *inside = path.relative_to(tree / "src").parts
        room = inside[0] if package == "unrolled" and len(inside) > 1 else "src"
        lines[room] += len(path.read_text(encoding="utf-8").splitlines())
    return lines


def show_lines(before: Path) -> None:
    """Both trees, room by room."""
    then, now = lines_of(before), lines_of(ROOT)
    print("| room | before | now |\n|---|---:|---:|")
    for room in sorted(then.keys() | now.keys()):
        shown = [f"{lines[room]:,}" if lines[room] else "" for lines in (then, now)]
        print(f"| `{room}` | {shown[0]} | {shown[1]} |")
    print(f"| all of `src/` | {then.total():,} | {now.total():,} |\n", flush=True)


def show_suite() -> None:
    """The suite, and the folders of tests/ by the time that their tests take."""
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}"]
        subprocess.run(words, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False)
        tests = list(ElementTree.parse(report).iter("testcase"))
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"\nthe whole suite on {os.cpu_count()} cores: {seconds:.0f} s, {cpu:.0f} CPU seconds, {len(tests)} tests\n")
    took: Counter[str] = Counter()
    for test in tests:
        place = test.attrib["classname"] or test.attrib["name"]  # of a file that is skipped as a whole
        took[place.split(".")[1]] += float(test.attrib["time"])
    print("| tests/ | seconds |\n|---|---:|")
    for name, used in took.most_common():
        print(f"| `{name}` | {used:.1f} |")


def main() -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=existing, help="the source tree to compare with")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each command and tree")
    parser.add_argument("--suite", action="store_true", help="measure the tests")
    options = parser.parse_args()
    if options.against is not None:
        show_lines(options.against.resolve())
        subprocess.run([sys.executable, "tests/test_way_to_the_loss.py"], cwd=ROOT, check=True)
        compare(options.against.resolve(), options.rounds)
    if options.suite:
        show_suite()


if __name__ == "__main__":
    main()
