"""Compare runs: means over seeds, significance, BLEU by length, sentences.

Usage:
    python src/compare.py runs=DIR [baseline='{attention: bahdanau}']

Examples:
    python src/compare.py runs=outputs/sweeps/attention
    python src/compare.py runs=outputs/sweeps/attention baseline='{attention: bahdanau}'
    python src/compare.py runs='[RUN,RUN]' baseline=RUN output=tables
    python src/compare.py runs=outputs/sweeps/g2p over=data.language

Tables go to standard output and, with figures, to a folder next to the runs.
"""

import logging
import sys

from omegaconf import DictConfig

from unrolled.api.compared_runs import compare_by
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command
from unrolled.configuration.values import resolved

log = logging.getLogger(__name__)


@command("compare")
def main(config: DictConfig) -> None:
    if config.over is not None:
        check_unused(["sentences", "align"], "tables with over=... do not have this")
    comparison = compare_by(resolved(config), write=True)
    sys.stdout.write(comparison.text)
    if comparison.baseline is not None:
        log.info("p-values need a baseline: %s", comparison.baseline)
    log.info("written to %s", comparison.folder)
