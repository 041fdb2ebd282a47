"""The sentences of a split that are shown: as they stand in its files, as the model wrote them, with known links."""

from typing import Any, NamedTuple

from unrolled.data.alignment import Links
from unrolled.data.subwords import piece_links
from unrolled.data.tokenizer import Tokenizer
from unrolled.training.modules import Translation

Alignment = tuple[Links, Links]
"""(sure, possible) links."""


class Sample(NamedTuple):
    """A sentence that is shown."""

    line: int
    """Of its file, from 0."""
    source: str
    reference: str
    translation: str
    alignment: Alignment | None
    """Between the pieces of source and reference; None if the data has none."""


def samples(module: Translation, data: Any, split: str, count: int) -> list[Sample]:
    """The first ``count`` lines of those of ``split`` that were translated last."""
    lines, translations = module.lines[split][:count], module.hypotheses[split][:count]
    sources, references, gold = data.sources(split), module.references[split], module.gold[split]
    tokenizers = data.source_tokenizer, data.target_tokenizer
    shown = []
    for line, translation in zip(lines, translations, strict=True):
        pair = sources[line], references[line]
        alignment = None if gold is None else piece_alignment(gold[line], *pair, *tokenizers)
        shown.append(Sample(line, *pair, translation, alignment))
    return shown


def piece_alignment(
    alignment: Alignment, source: str, target: str, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> Alignment:
    """The links between pieces that stand for those between words."""
    words = source_tokenizer.words_of_pieces(source), target_tokenizer.words_of_pieces(target)
    sure, possible = alignment
    pairs = ({(i, j) for i, j, _ in piece_links(links, *words)} for links in (sure, possible))
    return next(pairs), next(pairs)
