"""How likely a run finds given text: a language model's sentences, a translator's pairs.

python src/score.py run=RUN < sentences
python src/score.py run=RUN source=FILE target=FILE [detail=tokens] [alignment=FILE] [weights=FILE.npz]
"""

import json
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from omegaconf import DictConfig, ListConfig

from unrolled.configuration import command, load_language_model, load_translator, trains_translation
from unrolled.data.stream import arriving
from unrolled.data.text import check_same_length, read_lines
from unrolled.errors import UserError
from unrolled.metrics.alignment import pharaoh
from unrolled.training.inference import Pieces, word_links
from unrolled.training.matrices import MatrixFile


@command("score")
def main(config: DictConfig) -> None:
    if config.detail not in (None, "tokens"):
        raise UserError(f"detail={config.detail} is unknown: give tokens, or leave it away for a number a line")
    pairs = config.source is not None or config.target is not None or isinstance(config.run, ListConfig)
    if pairs or trains_translation(config.run):
        score_pairs(config)
    else:
        score_sentences(config)


def score_sentences(config: DictConfig) -> None:
    if config.alignment is not None or config.weights is not None:
        raise UserError(f"run={config.run} is a language model and aligns nothing: leave alignment and weights away")
    model = load_language_model(config)
    for lines in arriving(sys.stdin.buffer, "standard input", config.lines):
        show(model.score(lines), config.detail)


def score_pairs(config: DictConfig) -> None:
    for side in ("source", "target"):
        if config[side] is None:
            raise UserError(f"{side}=FILE is missing: name the sentences (source) and their translations (target)")
    check_same_length(config.source, config.target)
    translator = load_translator(config)
    sources, targets = list(read_lines(config.source)), list(read_lines(config.target))
    with ExitStack() as files:
        links = config.alignment and files.enter_context(Path(config.alignment).open("w", encoding="utf-8"))
        weights = config.weights and files.enter_context(MatrixFile(Path(config.weights)))
        for start in range(0, len(sources), config.lines):
            some = slice(start, start + config.lines)
            show(translator.score(sources[some], targets[some]), config.detail)
            if links or weights:
                pairs = translator.attend(sources[some], targets[some])
                if links:
                    links.writelines(pharaoh(word_links(pair)) + "\n" for pair in pairs)
                if weights:
                    weights.add(pair.weights.numpy() for pair in pairs)


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
