"""Write an n-gram model as an ARPA file, or make a run folder from one.

Usage:
    python src/arpa.py run=RUN > model.arpa
    python src/arpa.py file=model.arpa to=DIR

Examples:
    python src/arpa.py run=RUN > model.arpa
    python src/arpa.py run=RUN | gzip > model.arpa.gz
    python src/arpa.py file=model.arpa.gz to=imported

Such a folder is a run like any other: python src/score.py run=imported < sentences
"""

import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.load import load_ngrams
from unrolled.configuration.values import to_yaml
from unrolled.errors import UserError
from unrolled.files import write_text
from unrolled.ngram.arpa import load_arpa, save_arpa
from unrolled.runs.weights import save_weights
from unrolled.text.tokenizer import save_tokenizers


@command("arpa")
def main(config: DictConfig) -> None:
    if (config.run is None) == (config.file is None):
        raise UserError("give run=RUN to write its ARPA file to standard output, or file=FILE to=DIR to read one")
    if config.run is not None:
        save_arpa(*load_ngrams(config.run), sys.stdout)
        return
    if config.to is None:
        raise UserError("to=DIR is missing: name the run folder that the ARPA file becomes")
    folder = Path(config.to)
    if (folder / "config.yaml").exists():
        raise UserError(f"to={folder}: there is a run already; name a new folder")
    model, tokenizer = load_arpa(config.file)
    config.imported.model.order = model.order
    save_tokenizers(folder / "tokenizer", None, tokenizer)
    save_weights(model, folder / "weights.safetensors", {"tokenizer.target": tokenizer.sha256})
    write_text(folder / "config.yaml", to_yaml(config.imported))
    sys.stdout.write(f"{folder}\n")
