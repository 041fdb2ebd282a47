"""A snapshot of attention, see `record`, by a trained translator rather than in training."""

from collections.abc import Sequence
from pathlib import Path

from unrolled.inference.trained_translator import TrainedTranslator
from unrolled.inspection import record
from unrolled.inspection.page import PAGE, Shown, write_page

SENTENCES = 8
"""How many are recorded."""


def add_snapshot(
    folder: Path, translator: TrainedTranslator, split: str, sources: Sequence[str], references: Sequence[str]
) -> None:
    """Record where ``translator`` looks in the first sentences, as step 0 of the run ``folder``, and write its page."""
    sources, references = sources[:SENTENCES], references[:SENTENCES]
    outputs = [best for best, *_ in translator.translations(sources)]
    read = translator.attend(sources, references, inside=True)
    translated = translator.attend(sources, [output.hypothesis.tokens for output in outputs], inside=True)
    sentences = [
        {
            "line": number,
            "text": source,
            "source": one.source,
            "targets": {
                "reference": record.target(one, reference, None),
                "translation": record.target(other, output.text, None),
            },
        }
        for number, (source, reference, output, one, other) in enumerate(
            zip(sources, references, outputs, read, translated, strict=True), start=1
        )
    ]
    name = folder.name
    snapshot = {"run": name, "split": split, "step": 0, "epoch": None, "metrics": {}, "sentences": sentences}
    write_page(folder / PAGE, [Shown(name, record.add(folder, snapshot))])
