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

from omegaconf import DictConfig

from unrolled.api.imported_run import imported_ngrams
from unrolled.configuration.command import command
from unrolled.configuration.load import load_ngrams
from unrolled.errors import UserError
from unrolled.ngram.arpa import save_arpa


@command("arpa")
def main(config: DictConfig) -> None:
    if (config.run is None) == (config.file is None):
        raise UserError("give run=RUN to write its ARPA file to standard output, or file=FILE to=DIR to read one")
    if config.run is not None and config.to is not None:
        raise UserError(f"to={config.to}: run=RUN writes its ARPA file to standard output: omit it, and add > FILE")
    if config.run is not None:
        save_arpa(*load_ngrams(config.run), sys.stdout)
        return
    if config.to is None:
        raise UserError("to=DIR is missing: name the run folder to create from the ARPA file")
    sys.stdout.write(f"{imported_ngrams(config)}\n")
