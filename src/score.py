"""How likely a run finds given text: a language model's sentences, a translator's pairs.

python src/score.py run=RUN < sentences
python src/score.py run=RUN source=FILE target=FILE [detail=tokens] [alignment=FILE]
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration import command, load_language_model, load_translator, trains_translation
from unrolled.data.stream import arriving
from unrolled.data.text import check_same_length, decode_lines, read_lines
from unrolled.errors import UserError
from unrolled.metrics.alignment import pharaoh
from unrolled.training.inference import Pieces
from unrolled.training.results import write_lines


@command("score")
def main(config: DictConfig) -> None:
    if config.detail not in (None, "tokens"):
        raise UserError(f"detail={config.detail} is unknown: give tokens, or leave it away for a number a line")
    if isinstance(config.run, str | None) and not trains_translation(config.run):
        score_sentences(config)
    else:
        score_pairs(config)


def score_sentences(config: DictConfig) -> None:
    if not (config.source is config.target is config.alignment is None):
        raise UserError(
            f"run={config.run} is a language model: leave source, target and alignment away, give it < FILE"
        )
    model = load_language_model(config)
    for lines in arriving(decode_lines(sys.stdin.buffer, "standard input"), config.lines):
        show(model.score(lines), config.detail)


def score_pairs(config: DictConfig) -> None:
    if config.source is None or config.target is None:
        raise UserError("source=FILE and target=FILE are missing: name the sentences and the translations to score")
    check_same_length(config.source, config.target)
    translator = load_translator(config)
    sources, targets = list(read_lines(config.source)), list(read_lines(config.target))
    for start in range(0, len(sources), config.lines):
        some = slice(start, start + config.lines)
        show(translator.score(sources[some], targets[some]), config.detail)
    if config.alignment is not None:
        write_lines(Path(config.alignment), [pharaoh(links) for links in translator.word_links(sources, targets)])


def show(scored: Iterable[Pieces], detail: str | None) -> None:
    for pieces in scored:
        log_probability = sum(log_p for _, log_p in pieces)
        line = f"{log_probability:.6f}"
        if detail is not None:
            line = json.dumps({"log_probability": log_probability, "tokens": pieces}, ensure_ascii=False)
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
