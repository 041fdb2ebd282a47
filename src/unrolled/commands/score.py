"""Print how likely runs find given text.

Usage:
    python src/score.py run=LM < sentences
    python src/score.py run=RUN source=FILE target=FILE

Examples:
    python src/score.py run=LM detail=corpus context=text < test.txt
    python src/score.py run='[LM,LM]' mixture='[0.4,0.6]' rank=true < sentences
    python src/score.py run=RUN source=test.en target=test.de detail=tokens alignments=links.talp

Language models score sentences, translators score pairs.
"""

import sys
from collections.abc import Iterator

from omegaconf import DictConfig

from unrolled.api.language_model_run import LanguageModelRun
from unrolled.api.translator_run import TranslatorRun
from unrolled.configuration.build import build_detail
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command
from unrolled.configuration.load import trains_translation
from unrolled.configuration.values import run_folders
from unrolled.errors import UserError
from unrolled.inference.columns import Column
from unrolled.inference.notices import Notices
from unrolled.inference.scored_pairs import scored_pairs
from unrolled.inference.scored_pieces import Pieces
from unrolled.inference.text_scorer import scorer
from unrolled.runs.folder import short_names
from unrolled.runs.outputs import check_outputs
from unrolled.text.lines import check_same_length
from unrolled.text.pipe import arriving

WRITTEN = ("alignments", "weights")
Chunk = tuple[list[str], list[list[Pieces]]]  # lines, and for each column the pieces of each


@command("score")
def main(config: DictConfig) -> None:
    columns, chunks = score(config)
    detail, notices = build_detail(config, columns), Notices(columns)
    for lines, scored in chunks:
        sys.stdout.write(detail.show(lines, scored))
        sys.stdout.flush()
        notices.add(lines, scored)
    sys.stdout.write(detail.end())
    notices.end()


def score(config: DictConfig) -> tuple[list[Column], Iterator[Chunk]]:
    if config.source is not None or config.target is not None or any(map(trains_translation, run_folders(config))):
        return score_pairs(config)
    return score_sentences(config)


def score_sentences(config: DictConfig) -> tuple[list[Column], Iterator[Chunk]]:
    if config.alignments is not None or config.weights is not None:
        raise UserError(f"run={config.run} is a language model and aligns nothing: omit alignments and weights")
    check_unused(["ensemble"], "translators are combined by it, language models by mixture=...")
    models = LanguageModelRun(config).models
    context = "line" if config.rank and config.context is None else config.context
    scorers = [scorer(model, context) for model in models]
    chunks = arriving(sys.stdin.buffer, "standard input", config.lines)
    columns = [Column(model.name, model.tokenizer) for model in models]
    return columns, ((lines, [column_scorer.score(lines) for column_scorer in scorers]) for lines in chunks)


def score_pairs(config: DictConfig) -> tuple[list[Column], Iterator[Chunk]]:
    for side in ("source", "target"):
        if config[side] is None:
            raise UserError(f"{side}=FILE is missing: name the sentences (source) and their translations (target)")
    for option in ("mixture", "context"):
        if config[option] is not None:
            raise UserError(f"{option}=... is for language models, which read no source=FILE: omit it")
    check_outputs(config, WRITTEN, ("source", "target"))
    check_same_length(config.source, config.target)  # before the work of loading
    translator = TranslatorRun(config).translator
    for option in WRITTEN:
        if config[option]:
            translator.check_attention(f"{option}={config[option]}")
    column = Column("+".join(short_names(run_folders(config))), translator.target_tokenizer)
    options = {"lines": config.lines, "alignment": config.alignments, "weights": config.weights}
    pairs = scored_pairs(translator, config.source, config.target, **options)
    return [column], ((lines, [scored]) for lines, scored in pairs)
