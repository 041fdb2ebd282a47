"""Find the mixture of language models that makes held-out text likeliest.

Usage:
    python src/interpolate.py run='[LM,LM]' val=FILE [test=FILE]

Examples:
    python src/interpolate.py run='[LM,LM]' val=val.txt
    python src/interpolate.py run='[LM,LM,LM]' val=val.txt test=test.txt
    python src/interpolate.py run='[LM,LM]' val=val.txt test=test.txt context=text

It prints the weights and the perplexity of each model and of the mixture; score.py takes the weights as mixture=...
"""

import sys

from omegaconf import DictConfig

from unrolled.api.interpolated_models import interpolated
from unrolled.configuration.command import command
from unrolled.configuration.load import load_language_models
from unrolled.errors import UserError
from unrolled.text.lines import read_lines


@command("interpolate")
def main(config: DictConfig) -> None:
    if config.val is None:
        raise UserError("val=FILE is missing: name the text to find the weights on, not the one to report on")
    files = {split: config[split] for split in ("val", "test") if config[split] is not None}
    lines = {split: list(read_lines(file)) for split, file in files.items()}
    mixture = interpolated(load_language_models(config), lines, config.context)
    sys.stdout.write(mixture.text)
    sys.stdout.write(f"mixture=[{','.join(f'{weight:.6f}' for weight in mixture.weights)}]\n")
