"""The table of docs/architecture.md: lines per room, the ways to the loss and to a translation, start-up, the suite.

    git worktree add ../before b94e679
    python benchmarks/house.py --against ../before [--rounds 5]
    python benchmarks/house.py --suite

Start-up is that of benchmarks/startup.py --against. --suite: the whole suite by pytest's own settings, its seconds and
CPU seconds with those of all processes that it starts; then CPU seconds for each folder of tests/, one after the other,
as one process each.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

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


def spent(*arguments: str) -> tuple[float, float]:
    """Seconds, and CPU seconds with those of all its processes, of pytest with these arguments."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start, cpu = time.monotonic(), used()
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "pytest", "-q", *arguments], cwd=ROOT, env=environment, check=False)
    return time.monotonic() - start, used() - cpu


def show_suite() -> None:
    """The suite, and the folders of tests/ by CPU seconds."""
    seconds, cpu = spent()
    print(f"\nthe whole suite on {os.cpu_count()} cores: {seconds:.0f} s, {cpu:.0f} CPU seconds\n")
    places = [path for path in sorted((ROOT / "tests").iterdir()) if path.is_dir() or path.name.startswith("test_")]
    rows = {
        path.name: spent("-n", "0", str(path))[1] for path in places if list(path.rglob("test_*.py")) or path.is_file()
    }
    print("\n| tests/ | CPU s |\n|---|---:|")
    for name, used in sorted(rows.items(), key=lambda row: -row[1]):
        print(f"| `{name}` | {used:.1f} |")


def main() -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the source tree to compare with")
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
