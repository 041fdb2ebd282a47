"""Test an attention, a decoder or a model, such as your own, for what each promises.

Usage:
    python src/check.py attention=NAME [model=NAME]

Examples:
    python src/check.py attention=gru_att
    python src/check.py --config-dir my_package/conf attention=mine attention.size=32
    python src/check.py model=rnn_lm model.cell=gru

One line a promise: kept, BROKEN with the smallest case that shows it, or - where there is nothing to try. The exit
status is 1 if a promise is broken. docs/check.md says what each of them means.
"""

import sys

from omegaconf import DictConfig

from unrolled.api.checked_part import BROKEN, rows
from unrolled.configuration.command import command


@command("check")
def main(config: DictConfig) -> None:
    results = set()
    for row in rows(config):
        results.add(row["result"])
        sys.stdout.write(f"{row['promise']:<40} {row['result']:<6} {row['why']}".rstrip() + "\n")
        sys.stdout.flush()
    if BROKEN in results:
        sys.exit(1)
