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
from pathlib import Path

from omegaconf import DictConfig

from unrolled.alignment.links import pharaoh
from unrolled.configuration.command import command
from unrolled.configuration.load import load_translator
from unrolled.errors import UserError, check_choice
from unrolled.inference.attended_pairs import word_links
from unrolled.inference.matrices import MatrixFile
from unrolled.inference.trained_translator import Output, TrainedTranslator
from unrolled.text.pipe import arriving

log = logging.getLogger("translate")


@command("translate")
def main(config: DictConfig) -> None:
    check_choice("longer", config.longer, ("truncate", "refuse"))
    translator = load_translator(config)
    done = 0
    with ExitStack() as files:
        links = config.alignments and files.enter_context(Path(config.alignments).open("w", encoding="utf-8"))
        weights = config.weights and files.enter_context(MatrixFile(Path(config.weights)))
        for arrived in arriving(sys.stdin.buffer, "standard input", config.lines):
            chunk = shortened(arrived, done, translator, config)
            outputs = translator.translations(chunk, config.nbest)
            for number, nbest in enumerate(outputs, start=done):
                sys.stdout.buffer.writelines(f"{line(number, best, config.nbest)}\n".encode() for best in nbest)
            sys.stdout.buffer.flush()
            if links or weights:
                every = [
                    (source, best.hypothesis.tokens) for source, n in zip(chunk, outputs, strict=True) for best in n
                ]
                pairs = translator.attend(*zip(*every, strict=True))
                if links:
                    links.writelines(pharaoh(word_links(pair)) + "\n" for pair in pairs)
                    links.flush()
                if weights:
                    weights.add(pair.weights.numpy() for pair in pairs)
            done += len(chunk)
            log.info("%s lines translated", f"{done:,}")


def line(number: int, best: Output, nbest: int) -> str:
    """The translation or, with ``nbest`` above 1, an entry of the n-best list."""
    if nbest == 1:
        return best.text
    return f"{number} ||| {best.text} ||| logp={best.hypothesis.log_probability:.6f} ||| {best.hypothesis.score:.6f}"


def shortened(lines: list[str], done: int, translator: TrainedTranslator, config: DictConfig) -> list[str]:
    """``lines`` with at most ``max_length`` tokens each; messages name lines that are cut or refused by number."""
    tokenizer = translator.members[0].source_tokenizer
    encoded = tokenizer.encode(lines)
    for number, ids in enumerate(encoded):
        if len(ids) > config.max_length:
            what = f"standard input:{done + number + 1}: {len(ids)} tokens are more than max_length={config.max_length}"
            if config.longer == "refuse":
                raise UserError(f"{what}; split the line, raise max_length, or give longer=truncate")
            log.warning("%s; the rest is omitted", what)
            lines[number] = tokenizer.decode(ids[: config.max_length])
    return lines
