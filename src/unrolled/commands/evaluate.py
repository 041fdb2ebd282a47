"""Score a run on its validation or test set: BLEU, chrF, TER, AER.

Usage:
    python src/evaluate.py run=RUN [split=val] [name=value ...]
    python src/evaluate.py alignments=FILE gold=FILE

Examples:
    python src/evaluate.py run=RUN
    python src/evaluate.py run='[RUN,RUN]' split=val search.beam_size=10
    python src/evaluate.py alignments=hyp.talp gold=gold.talp gold_base=1

The second form is the alignment error rate of any two Pharaoh files.
"""

from omegaconf import DictConfig

from unrolled.alignment.links import read_alignments
from unrolled.configuration.command import command
from unrolled.errors import UserError
from unrolled.metrics.alignment_scores import alignment_scores
from unrolled.runs.results import show_results
from unrolled.text.lines import unequal


@command("evaluate")
def main(config: DictConfig) -> None:
    if config.alignments is not None or config.gold is not None:
        evaluate_alignments(config)
    else:
        evaluate_run(config)


def evaluate_alignments(config: DictConfig) -> None:
    if config.alignments is None or config.gold is None:
        raise UserError("alignments=FILE and gold=FILE go together: name both Pharaoh files")
    hypotheses = list(read_alignments(config.alignments))
    gold = list(read_alignments(config.gold, base=config.gold_base))
    if len(hypotheses) != len(gold):
        raise unequal(config.alignments, len(hypotheses), config.gold, len(gold))
    show_results(alignment_scores([sure for sure, _ in hypotheses], gold)._asdict())


def evaluate_run(config: DictConfig) -> None:
    from unrolled.api.translator_run import TranslatorRun  # loads torch

    show_results(TranslatorRun(config).figures_of(config))
