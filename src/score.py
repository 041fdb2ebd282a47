"""How likely a run, or several as an ensemble, finds given translations.

python src/score.py run=RUN source=FILE target=FILE [detail=tokens] [alignment=FILE]
"""

import json
import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration import command, load_translator
from unrolled.data.text import check_same_length, read_lines
from unrolled.errors import UserError
from unrolled.metrics.alignment import pharaoh
from unrolled.training.results import write_lines


@command("score")
def main(config: DictConfig) -> None:
    if config.source is None or config.target is None:
        raise UserError("source=FILE and target=FILE are missing: name the sentences and the translations to score")
    if config.detail not in (None, "tokens"):
        raise UserError(f"detail={config.detail} is unknown: give tokens, or leave it away for a number a line")
    check_same_length(config.source, config.target)
    translator = load_translator(config)
    sources, targets = list(read_lines(config.source)), list(read_lines(config.target))
    for start in range(0, len(sources), config.lines):
        some = slice(start, start + config.lines)
        for pieces in translator.score(sources[some], targets[some]):
            log_probability = sum(log_p for _, log_p in pieces)
            line = f"{log_probability:.6f}"
            if config.detail is not None:
                line = json.dumps({"log_probability": log_probability, "tokens": pieces}, ensure_ascii=False)
            sys.stdout.write(line + "\n")
        sys.stdout.flush()
    if config.alignment is not None:
        write_lines(Path(config.alignment), [pharaoh(links) for links in translator.word_links(sources, targets)])


if __name__ == "__main__":
    main()
