"""Make a run folder from a checkpoint of dl4mt-tutorial's session 2 or of Theano-Nematus.

Usage:
    python src/import_weights.py from=FILE source_dictionary=FILE target_dictionary=FILE [to=DIR]

Examples:
    python src/import_weights.py from=model.npz source_dictionary=en.json target_dictionary=de.json
    python src/import_weights.py from=model.npz source_dictionary=en.json target_dictionary=de.json use_dropout=true
    python src/import_weights.py from=model.npz source_dictionary=en.json target_dictionary=de.json test='[a.en,a.de]'

Dictionaries are JSON; what is pickled is never opened: docs/museum.md.
"""

import sys

from omegaconf import DictConfig

from unrolled.api.imported_run import imported_translator
from unrolled.configuration.command import command


@command("import_weights")
def main(config: DictConfig) -> None:
    sys.stdout.write(f"{imported_translator(config)}\n")
