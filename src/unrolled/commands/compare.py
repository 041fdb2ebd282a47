"""Compare runs: means over seeds, significance, BLEU by length, sentences.

Usage:
    python src/compare.py runs=DIR [baseline='{attention: bahdanau}']

Examples:
    python src/compare.py runs=outputs/sweeps/attention
    python src/compare.py runs=outputs/sweeps/attention baseline='{attention: bahdanau}'
    python src/compare.py runs='[RUN,RUN]' baseline=RUN output=tables

Tables go to standard output, and with figures to a folder next to the runs.
"""

import logging
import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.comparison.groups import compare
from unrolled.comparison.report import Report, comparison_folder, notices
from unrolled.comparison.translations import read_translations
from unrolled.configuration.build import text_of
from unrolled.configuration.command import command
from unrolled.configuration.values import load_runs, resolved

log = logging.getLogger(__name__)


@command("compare")
def main(config: DictConfig) -> None:
    options = resolved(config)
    runs = load_runs(options["runs"])
    report = Report(**{name: options[name] for name in ("bootstrap", "randomization", "sentences", "edges")})
    comparison = compare(runs, options["baseline"])
    translated, unread = read_translations(comparison, lambda run: text_of(str(run)), align=options["align"])
    lines = [*notices(comparison), *unread]
    for line in lines:
        log.warning("%s", line)
    folder = Path(str(options["output"])) if options["output"] else comparison_folder(runs)
    sys.stdout.write(report.write(folder, comparison, translated, lines))
    if options["baseline"] is None and translated is not None and len(translated.groups) > 1:
        log.info("p-values need a baseline: %s", translated.groups[0].named())
    log.info("written to %s", folder)
