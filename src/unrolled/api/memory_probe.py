"""Does the memory of a translator's attention tell which source words are translated already?"""

import logging
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from unrolled.api.evaluated_text import evaluated_text
from unrolled.api.memory_ablations import ALL, groups_by_length
from unrolled.api.records import Records
from unrolled.comparison.tables import comma_separated
from unrolled.errors import UserError
from unrolled.files import write_text
from unrolled.inference.trained_translator import TrainedTranslator
from unrolled.inference.translated_words import Examples, examples, joined
from unrolled.metrics.linear_probe import LinearProbe, area_under_curve, fit
from unrolled.models.ablation import NO_VECTORS, check_memory
from unrolled.text.table import table
from unrolled.text.tokens import split_words

log = logging.getLogger(__name__)

PAIRS = 32
"""Sentence pairs whose memories are held at once."""
MOST = 100_000
"""Examples that a probe is fitted to, drawn from all of the validation set."""
SEED = 1
DISTANCES = (1, 2, 4, 8, 16)
"""The smallest distances of the groups, in target words."""
SHUFFLED = "shuffled labels"
READ = {"memory": "memory", SHUFFLED: "memory", "received weights": "received", "place": "place"}
"""What each probe reads of `Examples`: the memory; the memory again, fitted to shuffled labels; two rivals of it."""


def memory_probe(translator: TrainedTranslator, first: str, config: DictConfig) -> Records[dict[str, Any]]:
    """A row for each group of lengths and of distances: the area under the ROC curve of each of `READ`.

    Probes are fitted to the validation set, and the areas are those of ``config.split``, with a warning if that is the
    validation set too. The rows are also in the run folder ``first``, whose data is read, as probe-SPLIT.csv.
    UserError: several runs, an attention without a memory of source positions, no known links.
    """
    if len(translator.members) > 1:
        raise UserError("probe=true: each run has its own memory: name one run")
    if not check_memory(translator.members[0].model, "probe=true"):
        raise UserError(f"probe=true: {NO_VECTORS}: omit it")
    text = evaluated_text(first, "val", config.split)
    for split in ("val", config.split):
        if text.gold(split) is None:
            raise UserError(f"probe=true: no links of the {split} split are known: train with data.{split}_alignment")
    if config.split == "val":
        log.warning("split=val: probes are fitted to these very examples, which flatters them; split=test has others")
    probes = _fitted(joined([of_line for _, of_line in _examples(translator, text, "val")]))
    lines, scores, translated, distance = [], [], [], []
    for line, tested in _examples(translator, text, config.split):
        lines.append(np.full(len(tested.translated), line))
        scores.append([probe.scores(getattr(tested, READ[name])) for name, probe in probes.items()])
        translated.append(tested.translated)
        distance.append(tested.distance)
    labels, of_probe = np.concatenate(translated), dict(zip(probes, np.concatenate(scores, axis=1), strict=True))
    rows = []
    for what, group, chosen in _groups(text.sources(config.split), np.concatenate(lines), np.concatenate(distance)):
        row = {"by": what, "group": group, "examples": int(chosen.sum()), "translated": float(labels[chosen].mean())}
        rows.append(row | {name: area_under_curve(of_probe[name][chosen], labels[chosen]) for name in READ})
    write_text(Path(first) / f"probe-{config.split}.csv", comma_separated(rows))
    return Records(rows)


def shown(rows: list[dict[str, Any]]) -> str:
    """The table of areas."""
    names = {ALL: "", "length": "source words", "distance": "distance, target words"}
    lines = [["AUC", "", "examples", "translated", *READ]]
    for row in rows:
        cells = [names[row["by"]], row["group"], f"{row['examples']:,}", f"{row['translated']:.2f}"]
        lines.append([*cells, *(f"{row[name]:.3f}" for name in READ)])
    return table(lines, left=2)


def _fitted(every: Examples) -> dict[str, LinearProbe]:
    """A probe for each of `READ`, fitted to `MOST` of the examples, or all."""
    draw = np.random.default_rng(SEED)
    drawn = np.sort(draw.permutation(len(every.translated))[:MOST])
    labels = every.translated[drawn]
    return {
        name: fit(getattr(every, what)[drawn], draw.permutation(labels) if name == SHUFFLED else labels)
        for name, what in READ.items()
    }


def _examples(translator: TrainedTranslator, text: Any, split: str) -> Iterator[tuple[int, Examples]]:
    """The number of each line of a split that has known links, and its examples. UserError: there is none."""
    sources, references, gold = text.sources(split), text.references(split), text.gold(split)
    some = False
    for start in range(0, len(sources), PAIRS):
        chunk = slice(start, start + PAIRS)
        pairs = translator.attend(sources[chunk], references[chunk], inside=True)
        for line, (pair, (sure, _)) in enumerate(zip(pairs, gold[chunk], strict=True), start=start):
            if pair.target_words and sure:
                some = True
                yield line, examples(pair, sure)
    if not some:
        raise UserError(f"probe=true: no pair in the {split} split has a known link")


def _groups(sources: list[str], lines: Any, distances: Any) -> Iterator[tuple[str, str, Any]]:
    """What is grouped, the name of the group, which examples are in it: all, by length, by distance; no empty group."""
    for name, of_group in groups_by_length([len(split_words(source)) for source in sources]):
        chosen = np.isin(lines, of_group)
        if chosen.any():
            yield ALL if name == ALL else "length", name, chosen
    for low, high in zip(DISTANCES, [*DISTANCES[1:], math.inf], strict=True):
        name = f"{low} or more" if math.isinf(high) else f"{low}" if high == low + 1 else f"{low} to {int(high) - 1}"
        chosen = (distances >= low) & (distances < high)
        if chosen.any():
            yield "distance", name, chosen
