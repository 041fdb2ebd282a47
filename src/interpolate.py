"""Weights of a mixture of language models that make held-out text the likeliest, and what the mixture is worth.

python src/interpolate.py run='[LM,LM]' val=FILE [test=FILE]
"""

import sys

from omegaconf import DictConfig

from unrolled.configuration import command, load_language_models
from unrolled.data.text import read_lines
from unrolled.errors import UserError
from unrolled.metrics.interpolation import tune
from unrolled.training.interpolation import comparison, read_text


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


if __name__ == "__main__":
    main()
