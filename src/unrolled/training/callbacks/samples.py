"""The sentences that callbacks show: source, reference, translation and known links."""

from typing import Any, NamedTuple

from unrolled.alignment.pieces import Alignment, piece_alignment
from unrolled.training.translation import Translation


class Sample(NamedTuple):
    """A sentence to show."""

    line: int
    """Its number in the file, from 0."""
    source: str
    reference: str
    translation: str
    alignment: Alignment | None
    """Between the pieces of source and reference; None if the data has none."""


def samples(module: Translation, data: Any, split: str, count: int) -> list[Sample]:
    """The first ``count`` lines of ``split`` among those translated last."""
    lines, translations = module.lines[split][:count], module.hypotheses[split][:count]
    sources, references, gold = data.text.sources(split), module.references[split], module.gold[split]
    tokenizers = data.source_tokenizer, data.target_tokenizer
    shown = []
    for line, translation in zip(lines, translations, strict=True):
        pair = sources[line], references[line]
        alignment = None if gold is None else piece_alignment(gold[line], *pair, *tokenizers)
        shown.append(Sample(line, *pair, translation, alignment))
    return shown
