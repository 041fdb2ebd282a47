"""Draw sentences from a language model.

Usage:
    python src/sample.py run=LM [name=value ...] > sentences

Examples:
    python src/sample.py run=LM
    python src/sample.py run=LM number=100 search.temperature=0.7
    python src/sample.py run=LM search.top_p=0.9 search.seed=2
"""

import sys

from omegaconf import DictConfig

from unrolled.api.language_model_run import LanguageModelRun
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command


@command("sample")
def main(config: DictConfig) -> None:
    of_pairs = ["search.max_length_ratio", "search.max_length_extra"]
    check_unused(of_pairs, "nothing is translated, and max_length=... is the limit")
    for sentence in LanguageModelRun(config).samples(config):
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()
