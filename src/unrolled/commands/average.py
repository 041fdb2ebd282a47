"""Average a run's weights over several validations, as a new run.

Usage:
    python src/average.py run=RUN [which=best|last] [number=5]

Examples:
    python src/average.py run=RUN
    python src/average.py run=RUN which=last number=3
    python src/translate.py run=RUN/average-best-5 < test.en > test.de

It prints the new run's folder, such as RUN/average-best-5.
"""

import json
import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.load import tokenizers_of
from unrolled.configuration.values import read_config
from unrolled.errors import check_choice
from unrolled.files import write_text
from unrolled.runs.weights import (
    average,
    check_vocabularies,
    choose,
    save_tensors,
    weights_of,
    written_vocabularies,
)
from unrolled.text.tokenizer import fingerprint, save_tokenizers


@command("average")
def main(config: DictConfig) -> None:
    check_choice("which", config.which, ("best", "last"))
    trained = read_config(config.run)
    run = Path(config.run)
    kept = run / "checkpoints" / "kept"
    steps = choose(kept, config.which, config.number)
    folder = run / f"average-{config.which}-{config.number}"
    tokenizers = tokenizers_of(trained, run)
    save_tokenizers(folder / "tokenizer", *tokenizers)
    vocabularies = fingerprint(*tokenizers)
    check_vocabularies(run, written_vocabularies(run), vocabularies)
    best = run / "weights.safetensors"
    weights = average([weights_of(kept, step) for step in steps], best if best.exists() else None)
    save_tensors(weights, folder / "weights.safetensors", vocabularies)
    write_text(folder / "average.json", json.dumps({"which": config.which, "steps": steps}, indent=2) + "\n")
    write_text(folder / "config.yaml", (run / "config.yaml").read_text(encoding="utf-8"))
    sys.stdout.write(f"{folder}\n")
