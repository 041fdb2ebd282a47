"""The weights of a mixture of language models that make held-out text most likely, and the mixture's perplexity.

python src/interpolate.py run='[LM,LM]' val=FILE [test=FILE]
"""

import sys

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.load import load_language_models
from unrolled.errors import UserError
from unrolled.inference.interpolation import comparison, read_text
from unrolled.inference.mixture_weights import tune
from unrolled.text.lines import read_lines


@command("interpolate")
def main(config: DictConfig) -> None:
    if config.val is None:
        raise UserError("val=FILE is missing: name the text to find the weights on, not the one to report on")
    files = {split: config[split] for split in ("val", "test") if config[split] is not None}
    lines = {split: list(read_lines(file)) for split, file in files.items()}
    models = load_language_models(config)
    log_probs = {split: read_text(models, text, config.context) for split, text in lines.items()}
    weights = tune(log_probs["val"])
    sys.stdout.write(comparison([model.name for model in models], log_probs, weights))
    sys.stdout.write(f"mixture=[{','.join(f'{weight:.6f}' for weight in weights)}]\n")
