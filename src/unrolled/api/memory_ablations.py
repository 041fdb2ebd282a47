"""A translator's figures by source length while the memory of its attention is tampered with."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from unrolled.api.evaluated_text import evaluated_text
from unrolled.api.records import Records
from unrolled.comparison.report import LENGTHS
from unrolled.comparison.tables import comma_separated
from unrolled.comparison.varied_options import ABSENT
from unrolled.configuration.values import read_config
from unrolled.errors import UserError, check_choice
from unrolled.files import write_text
from unrolled.inference.scored_pieces import total
from unrolled.inference.trained_translator import TrainedTranslator
from unrolled.metrics.attention_counts import AttentionCounts
from unrolled.metrics.bands import even_edges
from unrolled.metrics.error_rates import errors_of_lines
from unrolled.metrics.error_rates import total as total_errors
from unrolled.metrics.line_scores import Bleu
from unrolled.models.ablation import ABLATIONS, NO_VECTORS, ablated, check_memory
from unrolled.text.table import table
from unrolled.text.tokens import split_words

ALL = "all"
SHUFFLE = "shuffle"
INTACT = "intact"
"""What rows of the unchanged model have under memory."""
TITLES = {"bleu": "BLEU", "word_error_rate": "word error rate, %", "loss": "loss, nats per target token", "aer": "AER"}


def memories_of(chosen: Any) -> list[str]:
    """The names that ``memory=`` gives: one, several, or all. UserError: an unknown name."""
    names = list(chosen) if isinstance(chosen, Sequence) and not isinstance(chosen, str) else [chosen]
    if names == [ALL]:
        return list(ABLATIONS)
    for name in names:
        check_choice("memory", name, [*ABLATIONS, ALL])
    if not names or len(set(names)) < len(names) or ALL in names:
        raise UserError(
            f"memory={','.join(names) or '[]'}: name each of {', '.join(ABLATIONS)} at most once, or memory=all alone"
        )
    return names


def memory_ablations(translator: TrainedTranslator, first: str, config: DictConfig) -> Records[dict[str, Any]]:
    """A row for each memory, `INTACT` first, and each group of source lengths in words, all of them first.

    AER is NaN in a group without links, such as one of blank lines.

    config: of evaluate.py, with ``split`` and ``memory``. The data is that of the run folder ``first``, where the rows
    of a single run, not of an ensemble, are also kept as memory-SPLIT.csv. UserError: an attention without a memory.
    """
    names = memories_of(config.memory)
    models = [member.model for member in translator.members]
    by_position = [check_memory(model, f"memory={','.join(names)}") for model in models]
    if SHUFFLE in names and not all(by_position):
        if config.memory not in (ALL, [ALL]):
            raise UserError(f"memory={SHUFFLE}: {NO_VECTORS}: omit it")
        names.remove(SHUFFLE)
    run, text = read_config(first), evaluated_text(first, config.split)
    sources, references = text.sources(config.split), text.references(config.split)
    gold = text.gold(config.split)
    symbols = run.data.get("symbols")
    bleu = Bleu(run.data.bleu_tokenize, run.data.bleu_lowercase)
    groups = groups_by_length([len(split_words(source)) for source in sources])
    rows = []
    for name in (INTACT, *names):
        with nullcontext() if name == INTACT else ablated(models, name):
            hypotheses = translator.translate(sources)
            scored = translator.score(sources, references)
            pairs = None if gold is None else translator.attend(sources, references)
        (statistics,) = bleu.statistics([hypotheses], references)
        errors = None if symbols is None else errors_of_lines(hypotheses, references, symbols)
        for words, lines in groups:
            row = {"memory": name, "source_words": words, "sentences": len(lines)}
            row["bleu"] = bleu.of_sums(statistics[lines].sum(axis=0))
            if errors is not None:
                row["word_error_rate"] = total_errors([errors[line] for line in lines]).word_error_rate
            row["loss"] = total([scored[line] for line in lines]).loss
            if gold is not None and pairs is not None:
                counts = AttentionCounts()
                for line in lines:
                    pair = pairs[line]
                    counts.add(pair.weights.numpy(), pair.source_words, pair.target_words, gold[line])
                row["aer"] = counts.alignment.scores().aer
            rows.append(row)
    if len(models) == 1:
        write_text(Path(first) / f"memory-{config.split}.csv", comma_separated(rows))
    return Records(rows)


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """A table for each figure: a line for each group of lengths, a column for each memory."""
    by_place = {(row["source_words"], row["memory"]): row for row in rows}
    lengths, memories = (list(dict.fromkeys(place[axis] for place in by_place)) for axis in (0, 1))
    tables = []
    for figure, title in TITLES.items():
        if figure not in rows[0]:
            continue
        lines = [["source words", "sentences", *memories]]
        for words in lengths:
            of_words = [by_place[words, memory] for memory in memories]
            digits = 2 if figure == "bleu" else 3
            cells = [ABSENT if math.isnan(row[figure]) else f"{row[figure]:.{digits}f}" for row in of_words]
            lines.append([words, f"{of_words[0]['sentences']:,}", *cells])
        tables.append(f"{title}\n{table(lines)}")
    return "\n".join(tables)


def groups_by_length(lengths: Sequence[int]) -> list[tuple[str, list[int]]]:
    """Names and indices of groups of lines: all of them, then by their number of words."""
    edges = even_edges(lengths, LENGTHS)
    place = np.searchsorted(edges, lengths, side="right") - 1
    groups = [(ALL, list(range(len(lengths))))]
    for number, low in enumerate(edges):
        last = edges[number + 1] - 1 if number + 1 < len(edges) else None
        name = f"{low} or more" if last is None else f"{low}" if last == low else f"{low} to {last}"
        lines = np.flatnonzero(place == number).tolist()
        groups += [(name, lines)] * bool(lines)
    return groups
