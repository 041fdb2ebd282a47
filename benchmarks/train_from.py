"""Trains a translator as src/train.py does, initialised by a recipe of initialisations.py.

    python benchmarks/train_from.py before experiment=multi30k data.root=DIR [...]
    python benchmarks/train_from.py "unit variance" experiment=multi30k data.root=DIR [...]

docs/training.md compares some of them.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from initialisations import RECIPES

from unrolled.commands import train
from unrolled.models import translator


def main() -> None:
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in RECIPES:
        sys.exit(f"train_from.py {name!r}: name a recipe first: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    build = translator.translator

    def begin(**options: Any) -> Any:
        model = build(**options)
        recipe(model)
        return model

    translator.translator = begin
    train.main()


if __name__ == "__main__":
    main()
