"""Average a run's weights over several validations, as a new run.

Usage:
    python src/average.py run=RUN [which=best|last] [number=5]

Examples:
    python src/average.py run=RUN
    python src/average.py run=RUN which=last number=3
    python src/translate.py run=RUN/average-best-5 < test.en > test.de

It prints the new run's folder, such as RUN/average-best-5.
"""

import sys

from omegaconf import DictConfig

from unrolled.api.averaged_run import averaged
from unrolled.configuration.command import command


@command("average")
def main(config: DictConfig) -> None:
    sys.stdout.write(f"{averaged(config.run, config.which, config.number)}\n")
