"""Score a run on its validation or test set: BLEU, chrF, TER, AER.

Usage:
    python src/evaluate.py run=RUN [split=val] [name=value ...]
    python src/evaluate.py run=RUN memory=all | probe=true
    python src/evaluate.py alignments=FILE gold=FILE

Examples:
    python src/evaluate.py run=RUN
    python src/evaluate.py run='[RUN,RUN]' split=val search.beam_size=10
    python src/evaluate.py alignments=hyp.talp gold=gold.talp gold_base=1

The second form is for attention with a memory: figures by source length with the memory corrupted, or what a probe
reads from it. The third is the alignment error rate of any two Pharaoh files.
"""

import sys
from math import isnan

from omegaconf import DictConfig

from unrolled.alignment.links import read_alignments
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command
from unrolled.errors import UserError
from unrolled.metrics.alignment_scores import alignment_scores
from unrolled.runs.results import show_results
from unrolled.text.lines import unequal

OF_A_RUN = ["run", "split", "memory", "probe", "pictures", "formats", "search", "device", "precision", "max_tokens"]
OF_A_RUN += ["ensemble", "trust"]


@command("evaluate")
def main(config: DictConfig) -> None:
    if config.alignments is not None or config.gold is not None:
        evaluate_alignments(config)
    else:
        evaluate_run(config)


def evaluate_alignments(config: DictConfig) -> None:
    if config.alignments is None or config.gold is None:
        raise UserError("alignments=FILE and gold=FILE go together: name both Pharaoh files")
    check_unused(OF_A_RUN, "alignments=FILE gold=FILE compares two files, whatever aligned them")
    hypotheses = list(read_alignments(config.alignments))
    gold = list(read_alignments(config.gold, base=config.gold_base))
    if len(hypotheses) != len(gold):
        raise unequal(config.alignments, len(hypotheses), config.gold, len(gold))
    scores = alignment_scores([sure for sure, _ in hypotheses], gold)
    if isnan(scores.aer):
        raise UserError(f"{config.alignments} and {config.gold}: neither has a link: check that these are the files")
    show_results(scores._asdict())


def evaluate_run(config: DictConfig) -> None:
    from unrolled.api.translator_run import TranslatorRun  # loads torch

    check_unused(["gold_base"], "only alignments=FILE gold=FILE read it")
    if config.memory is not None or config.probe:
        check_unused(["pictures", "formats"], "memory=... and probe=true make tables, without pictures")
    run, tables = TranslatorRun(config), []
    if config.memory is not None:
        from unrolled.api import memory_ablations

        tables.append(memory_ablations.shown(run.ablations_of(config)))
    if config.probe:
        from unrolled.api import memory_probe

        tables.append(memory_probe.shown(run.probe_of(config)))
    if tables:
        sys.stdout.write("\n".join(tables))
    else:
        show_results(run.figures_of(config))
