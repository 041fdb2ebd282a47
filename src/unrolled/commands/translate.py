"""Translate standard input, line by line.

Usage:
    python src/translate.py run=RUN [name=value ...] < in > out

Examples:
    python src/translate.py run=RUN < test.en > test.de
    python src/translate.py run='[RUN,RUN]' search.beam_size=10 < test.en > test.de
    python src/translate.py run=RUN nbest=10 alignments=links.talp < test.en > lists
"""

import logging
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from omegaconf import DictConfig

from unrolled.alignment.links import pharaoh
from unrolled.api.judged_sentences import TranslatedSentence
from unrolled.api.translator_run import TranslatorRun
from unrolled.configuration.command import command
from unrolled.errors import check_choice, counted
from unrolled.inference.long_lines import CHOICES
from unrolled.inference.matrices import MatrixFile
from unrolled.runs.outputs import check_outputs
from unrolled.text.pipe import arriving

WRITTEN = ("alignments", "weights")
log = logging.getLogger("translate")


@command("translate")
def main(config: DictConfig) -> None:
    check_choice("longer", config.longer, CHOICES)
    check_outputs(config, WRITTEN)
    run, done = TranslatorRun(config).ready(), 0
    for option in WRITTEN:
        if config[option]:
            run.translator.check_attention(f"{option}={config[option]}")
    with ExitStack() as files:
        links = config.alignments and files.enter_context(Path(config.alignments).open("w", encoding="utf-8"))
        weights = config.weights and files.enter_context(MatrixFile(Path(config.weights)))
        for lines in arriving(sys.stdin.buffer, "standard input", config.lines):
            lists = run.hypotheses(lines, count=config.nbest, scored=config.nbest > 1, where=partial(name, done))
            for number, nbest in enumerate(lists, start=done):
                sys.stdout.buffer.writelines(f"{line(number, best, config.nbest)}\n".encode() for best in nbest)
            sys.stdout.buffer.flush()
            if links or weights:
                pairs = run.attending([best for nbest in lists for best in nbest])
                if links:
                    links.writelines(pharaoh(pair.alignment) + "\n" for pair in pairs)
                    links.flush()
                if weights:
                    weights.add(pair.weights.numpy() for pair in pairs)
            done += len(lines)
            log.info("%s translated", counted(done, "line"))


def name(done: int, number: int) -> str:
    """The name in messages of line ``number`` after ``done`` lines."""
    return f"standard input:{done + number + 1}"


def line(number: int, best: TranslatedSentence, nbest: int) -> str:
    """The translation or, with ``nbest`` above 1, an entry of the n-best list."""
    if nbest == 1:
        return best.text
    return f"{number} ||| {best.text} ||| logp={best.log_probability:.6f} ||| {best.score:.6f}"
