"""Score n-best lists with further models, and choose the best again.

Usage:
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE]
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE] reference=FILE
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE] weights='{logp: 1, name: 0.2}'

Examples:
    python src/rescore.py nbest=lists scorers='{lm: LM}' > lists.lm
    python src/rescore.py nbest=lists.lm reference=val.de
    python src/rescore.py nbest=lists.lm weights='{logp: 1, lm: 0.2}' > test.de

The first form adds a feature to the lists, the second finds weights, the third prints the best translations.
"""

import logging
import sys

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.values import resolved
from unrolled.errors import UserError, check_choice
from unrolled.rescoring.choose import best, rescored, tuned, with_feature, word_count
from unrolled.rescoring.nbest import Entry, format_entry, parse_nbest
from unrolled.text.lines import read_lines, unequal

log = logging.getLogger("rescore")


@command("rescore")
def main(config: DictConfig) -> None:
    if config.nbest is None:
        raise UserError("nbest=FILE is missing: name a list that translate.py nbest=10 wrote")
    check_choice("output", config.output, ("best", "nbest"))
    lists = parse_nbest(read_lines(config.nbest), config.nbest)
    if "words" not in lists[0][0].features:
        lists = with_feature(lists, "words", [word_count(entry.text) for entries in lists for entry in entries])
    for name, run in (config.scorers or {}).items():
        lists = with_feature(lists, name, judgements(lists, run, config))
        log.info("scorers.%s: %s translations scored", name, f"{sum(map(len, lists)):,}")
    if config.reference is not None:
        references = list(read_lines(config.reference))
        if len(references) != len(lists):
            raise unequal(config.nbest, len(lists), config.reference, len(references))
        options = {"tokenize": config.bleu_tokenize, "lowercase": config.bleu_lowercase}
        search = {"restarts": config.restarts, "seed": config.seed}
        before, after, weights = tuned(lists, references, resolved(config).get("weights"), **search, **options)
        log.info("BLEU of the first ones %.2f, with these weights %.2f", before, after)
        sys.stdout.write("{" + ", ".join(f"{name}: {weight:.6g}" for name, weight in weights.items()) + "}\n")
        return
    if config.weights is not None:
        lists = rescored(lists, resolved(config.weights))
    for number, entries in enumerate(lists):
        if config.weights is not None and config.output == "best":
            sys.stdout.write(best(entries).text + "\n")
        else:
            sys.stdout.writelines(format_entry(number, entry) + "\n" for entry in entries)


def judgements(lists: list[list[Entry]], run: str, config: DictConfig) -> list[float]:
    """log p of every translation, one list after the other."""
    from unrolled.configuration.load import load_scorer  # loads torch, only if there are scorers

    texts = [entry.text for entries in lists for entry in entries]
    scorer, reads_source = load_scorer(run, config)
    if not reads_source:
        return [sum(log_p for _, log_p in pieces) for pieces in scorer.score(texts)]
    if config.source is None:
        raise UserError(f"source=FILE is missing: run={run} is a translator and scores translations of something")
    sources = list(read_lines(config.source))
    if len(sources) != len(lists):
        raise unequal(config.nbest, len(lists), config.source, len(sources))
    repeated = [source for source, entries in zip(sources, lists, strict=True) for _ in entries]
    return [sum(log_p for _, log_p in pieces) for pieces in scorer.score(repeated, texts)]
