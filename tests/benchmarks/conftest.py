"""The benchmarks are scripts outside the package: let tests import their modules, after all others (search is one)."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
