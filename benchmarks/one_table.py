"""The figures of several runs of train_throughput.py as one table, with torch's own GRU, which is cuDNN's on a GPU.

    python benchmarks/one_table.py throughput-32.json throughput-64.json throughput-256.json

nn.GRU: its GFLOP/s, as wide as our decoder. The last columns: the plain loop's time relative to ours, and that of ours
without CUDA graphs.
"""

import argparse
import json

from paths import existing
from report import row

HEAD = [
    "attention",
    "size",
    "precision",
    "sentences",
    "tokens/s",
    "GFLOP/s",
    "nn.GRU",
    "of peak",
    "plain loop",
    "without graphs",
]


def lines(report: dict) -> list[str]:
    """A row for each model and precision that ``report``, the content of a file, has figures of."""
    rows = []
    for experiment in report["experiments"]:
        ours = experiment["contestants"]["ours"]
        others = [experiment["contestants"].get(name) for name in ("plain", "without_graphs")]
        cells = [experiment[what] for what in ("attention", "size", "precision")]
        cells += [f"{report['sentences']}", f"{ours['target_tokens_per_second']:,.0f}"]
        cells += [
            f"{ours['operations_per_second'] / 1e9:,.0f}",
            f"{experiment['gru_operations_per_second'] / 1e9:,.0f}",
        ]
        cells += [
            f"{ours['share_of_peak']:.0%}",
            *("" if o is None else f"{o['times_as_long_as']['ours']:.2f} x" for o in others),
        ]
        rows.append(row(cells))
    return rows


def main() -> None:
    """As the module's docstring says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=existing, metavar="FILE", help="outputs of train_throughput.py")
    chosen = parser.parse_args()
    print(row(HEAD) + "\n" + row(["---"] * 3 + ["---:"] * 7))
    for path in chosen.files:
        print("\n".join(lines(json.loads(path.read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
