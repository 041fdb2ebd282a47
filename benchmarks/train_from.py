"""Trains a translator as src/train.py does, initialised by a recipe of initialisations.py.

    python benchmarks/train_from.py before experiment=multi30k model=cgru attention=bahdanau data.root=DIR [...]
    python benchmarks/train_from.py "small source" experiment=multi30k model=cgru attention=bahdanau data.root=DIR [...]

docs/training.md, "What it costs later", compares three of them.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from initialisations import RECIPES, small_source

from unrolled.commands import train
from unrolled.models import translator


def main() -> None:
    recipe = {**RECIPES, "small source": small_source}[sys.argv.pop(1)]
    initialise = translator.initialise

    def begin(model: Any, **options: Any) -> None:
        initialise(model, **options)
        recipe(model)

    translator.initialise = begin
    train.main()


if __name__ == "__main__":
    main()
