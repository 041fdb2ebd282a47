"""A translator's figures on a split of its data."""

import math
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig

from unrolled.alignment.pieces import piece_alignment
from unrolled.api.evaluated_text import evaluated_text
from unrolled.configuration.relocation import check_links
from unrolled.configuration.values import read_config
from unrolled.errors import UserError
from unrolled.figures.formats import picture_formats
from unrolled.inference.scored_pieces import total
from unrolled.inference.trained_translator import TrainedTranslator
from unrolled.inspection.heat_maps import save_alignments
from unrolled.metrics.error_figures import error_figures
from unrolled.metrics.translation_scores import bleu_by_length, translation_scores
from unrolled.text.tokens import split_words

EDGES = (0, 11, 21, 31, 41, 51)  # the smallest source lengths, in words, of the groups of BLEU by length


def evaluated(translator: TrainedTranslator, first: str, config: DictConfig) -> dict[str, Any]:
    """Figures and signatures by name, with pictures in the run folder ``first``, whose data is translated.

    config: of evaluate.py, with ``split``, ``pictures`` and ``formats``.
    """
    formats = picture_formats(config.formats)
    run = read_config(first)
    text = evaluated_text(first, config.split)
    sources, references = text.sources(config.split), text.references(config.split)
    shown = shown_lines(config.pictures, len(sources))
    if shown:
        translator.check_attention(f"pictures={config.pictures}")
        check_links(Path(first), "figures")
    hypotheses = translator.translate(sources)
    scoring = {"tokenize": run.data.bleu_tokenize, "lowercase": run.data.bleu_lowercase}
    scores = translation_scores(hypotheses, references, **scoring)
    likelihood = total(translator.score(sources, references))
    results = {"split": config.split, "sentences": len(sources)}
    results |= {"bleu": scores.bleu, "chrf": scores.chrf, "ter": scores.ter}
    results |= {"loss": likelihood.loss, "perplexity": likelihood.perplexity}
    symbols = run.data.get("symbols")
    if symbols is not None:
        results |= error_figures(sources, hypotheses, references, symbols, text.feature_separator)
    gold = text.gold(config.split)
    results |= translator.attention_figures(sources, references, gold)
    lengths = [len(split_words(source)) for source in sources]
    for low, high, sentences, bleu in bleu_by_length(hypotheses, references, lengths, EDGES, **scoring):
        words = f"{low} words or more" if math.isinf(high) else f"{low} to {high} words"
        results[f"bleu, source of {words} ({sentences} sentences)"] = bleu
    trained_here = "name" in run  # and not imported
    name = f"{run.name}-seed{run.seed}, best checkpoint" if trained_here else Path(first).resolve().name
    draw = partial(save_alignments, Path(first), config.split, shown, formats=formats, run=name)
    chosen = [sources[line] for line in shown]
    draw(translator.attend(chosen, [hypotheses[line] for line in shown]))
    if gold is not None:
        expected = [references[line] for line in shown]
        pairs = zip([gold[line] for line in shown], chosen, expected, strict=True)
        tokenizers = translator.members[0].source_tokenizer, translator.target_tokenizer
        links = [piece_alignment(*pair, *tokenizers) for pair in pairs]
        draw(translator.attend(chosen, expected), links)
    return results | {f"{name}_signature": signature for name, signature in scores.signatures.items()}


def shown_lines(pictures: int | ListConfig, lines: int) -> list[int]:
    """The lines to draw, from 0: the first ``pictures``, or those numbered, from 1. UserError: no such line."""
    if isinstance(pictures, int):
        return list(range(min(pictures, lines)))
    for line in pictures:
        if line > lines:
            raise UserError(f"pictures={list(pictures)}: there are {lines} lines")
    return [line - 1 for line in pictures]
